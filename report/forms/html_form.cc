// One HTML page that needs nothing else: the report as data, and a script that shows it (page/). The data is JSON in an
// element that no browser runs, and the script puts strings into the page as text only.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "report/cat.h"
#include "report/errno_name.h"
#include "report/forms/assets.h"
#include "report/forms/form.h"
#include "report/forms/places.h"
#include "report/forms/source_lines.h"
#include "report/modules.h"
#include "report/text_writer.h"
#include "report/version.h"

namespace rdmacheck {
namespace {

using Json = nlohmann::ordered_json;

// Frames and stacks by number: ten thousand findings mostly share theirs.
class StackNumbers {
 public:
  explicit StackNumbers(const ReportSet& set) : set_(set) {}

  Json NumberOf(StackId id) {
    if (set_.stacks.Get(id).empty()) return Json();
    const auto [it, added] = numbers_.emplace(id, stacks_.size());
    if (added) {
      Json frames = Json::array();
      for (const Frame& frame : WithoutStartCode(set_.stacks.Get(id))) frames.push_back(FrameNumber(frame));
      stacks_.push_back(std::move(frames));
    }
    return it->second;
  }

  Json TakeStacks() { return std::move(stacks_); }
  Json TakeFrames() { return std::move(frames_); }

 private:
  size_t FrameNumber(const Frame& frame) {
    const auto [it, added] = frame_numbers_.emplace(
        std::make_tuple(frame.function, frame.file, frame.line, frame.module, frame.offset), frames_.size());
    if (!added) return it->second;
    Json one = {{"f", NameOf(frame)}};
    if (!frame.file.empty()) one["file"] = frame.file;
    if (frame.line > 0) one["line"] = frame.line;
    if (!frame.module.empty()) one["m"] = Cat(LastPart(frame.module), "+", Hex(frame.offset));
    const std::vector<Frame> alone = {frame};
    if (FirstPlace(alone) != nullptr) {
      one["own"] = 1;
      SourceLines source = sources_.Around(frame.file, frame.line);
      if (source.first != 0) one["src"] = {source.first, source.lines};
    }
    frames_.push_back(std::move(one));
    return it->second;
  }

  const ReportSet& set_;
  SourceReader sources_;
  std::unordered_map<StackId, size_t> numbers_;
  std::map<std::tuple<std::string, std::string, int, std::string, uint64_t>, size_t> frame_numbers_;
  Json stacks_ = Json::array(), frames_ = Json::array();
};

class Page {
 public:
  Page(const ReportSet& set, const FormOptions& options) : set_(set), options_(options), stacks_(set), threads_(set) {}

  Json Data() {
    Json data;
    data["version"] = Version();
    data["title"] = options_.title;
    std::string command;
    for (const std::string& word : options_.command) Append(&command, command.empty() ? "" : " ", word);
    data["command"] = command;
    data["totals"] = Totals();
    data["rules"] = Rules();
    data["processes"] = Processes();
    data["findings"] = Findings();
    data["alive"] = Alive();
    data["lives"] = Lives();
    data["calls"] = Calls();
    data["stacks"] = stacks_.TakeStacks();
    data["frames"] = stacks_.TakeFrames();
    return data;
  }

 private:
  Json Totals() {
    const Summary totals = TotalsOf(set_);
    Json kinds = Json::array(), growth = Json::array();
    for (const KindCount& kind : totals.kinds) kinds.push_back({kind.kind, kind.created, kind.destroyed, kind.alive});
    for (const Growth& one : totals.growth) {
      growth.push_back({{"kind", one.kind},
                        {"created", one.created},
                        {"destroyed", one.destroyed},
                        {"alive", one.alive},
                        {"stack", stacks_.NumberOf(one.stack)}});
    }
    return {{"errors", totals.errors},         {"warnings", totals.warnings},   {"notes", totals.notes},
            {"suppressed", totals.suppressed}, {"unlisted", totals.not_listed}, {"kinds", std::move(kinds)},
            {"growth", std::move(growth)}};
  }

  Json Rules() {
    Json rules = Json::object();
    for (const SetFinding& one : set_.findings) {
      const RuleInfo& info = InfoOf(one.finding.rule);
      if (rules.contains(info.id)) continue;
      rules[info.id] = {{"title", info.title}, {"fix", info.fix}, {"help", std::string(HelpOf(info.id).markdown)}};
    }
    return rules;
  }

  Json Processes() {
    Json processes = Json::array();
    for (const SetProcess& process : set_.processes) {
      const ProcessInfo& info = process.process;
      Json one = {{"name", NameOf(set_, process)}, {"pid", info.pid}, {"exe", info.exe}, {"host", info.host}};
      if (!info.rank.empty()) one["rank"] = info.rank;
      if (info.exit_status >= 0) one["status"] = info.exit_status;
      if (!process.ended_by.empty()) one["ended_by"] = process.ended_by;
      one["started"] = info.started;
      one["end"] = std::max(info.ended, info.written);
      one["verbs"] = process.environment.libibverbs;
      if (!process.environment.librdmacm.empty()) one["cm"] = process.environment.librdmacm;
      if (process.environment.disassoc_destroy) one["disassoc"] = 1;
      if (!process.environment.unwatched.empty()) one["unwatched"] = process.environment.unwatched;
      one["file"] = process.file;
      processes.push_back(std::move(one));
    }
    return processes;
  }

  Json Findings() {
    Json findings = Json::array();
    for (const SetFinding& one : set_.findings) {
      const Finding& finding = one.finding;
      const RuleInfo& info = InfoOf(finding.rule);
      Json json = {{"rule", info.id}, {"sev", static_cast<int>(finding.severity)}, {"msg", finding.message}};
      const StackId main = MainStack(set_, finding);
      if (const Frame* place = FirstPlace(set_.stacks.Get(main))) {
        json["at"] = Cat(LastPart(place->file), ":", place->line);
        json["fn"] = NameOf(*place);
      } else if (!set_.stacks.Get(main).empty()) {
        json["at"] = NameOf(set_.stacks.Get(main).front());
      }
      if (finding.count != 1) json["count"] = finding.count;
      if (finding.times > 1) json["times"] = finding.times;
      if (finding.bytes != 0) json["bytes"] = finding.bytes;
      if (!finding.verb.empty()) json["verb"] = finding.verb;
      if (finding.has_result && finding.result != 0) json["result"] = ErrnoName(finding.result);
      if (finding.time > 0) json["time"] = finding.time;
      const uint32_t process = one.processes.empty() ? 0 : one.processes.ranges().front().first;
      if (finding.thread.tid != 0) {
        json["thread"] = TextOf(finding.thread);
        json["row"] = threads_.NameOf(process, finding.thread);
      }
      if (process != 0) json["process"] = process;
      if (finding.has_object) json["object"] = TextOf(finding.object);
      if (finding.has_object && !finding.object.remark.empty()) json["remark"] = finding.object.remark;
      for (const Related& other : finding.related) {
        json["related"].push_back({NameOf(other.role), TextOf(other.object), stacks_.NumberOf(other.object.created)});
      }
      for (const Unlisted& other : finding.unlisted) {
        json["more"].push_back(
            {NameOf(other.role), Cat(other.count, " more of kind ", other.kind), stacks_.NumberOf(other.stack)});
      }
      for (const Group& group : finding.groups) {
        json["groups"].push_back({group.kind, group.count, group.bytes, stacks_.NumberOf(group.stack)});
      }
      for (const StackRef& stack : finding.stacks) {
        Json number = stacks_.NumberOf(stack.id);
        if (!number.is_null()) json["stacks"].push_back({NameOf(stack.role), std::move(number)});
      }
      if (!finding.hints.empty()) json["hints"] = finding.hints;
      for (const TimelineEntry& entry : finding.timeline) {
        json["calls"].push_back({entry.what, TextOf(entry.thread), entry.begin, entry.end,
                                 Cat(entry.kind, " #", entry.serial),
                                 entry.result == 0 ? "" : ErrnoName(entry.result)});
      }
      if (!finding.suppressed_by.empty()) json["suppressed"] = finding.suppressed_by;
      if (set_.processes.size() > 1) json["where"] = RanksInWords(set_, one.processes);
      findings.push_back(std::move(json));
    }
    return findings;
  }

  // Each object stands in one group; the tree is made by the script, from serials and parents' serials.
  Json Alive() {
    Json alive = Json::array();
    for (const SetAlive& one : set_.alive) {
      const AliveGroup& group = one.group;
      const uint32_t process = one.processes.empty() ? 0 : one.processes.ranges().front().first;
      Json json = {{"kind", group.kind},   {"device", group.device}, {"count", group.count},
                   {"bytes", group.bytes}, {"process", process},     {"stack", stacks_.NumberOf(group.stack)}};
      if (set_.processes.size() > 1) json["where"] = RanksInWords(set_, one.processes);
      Json& objects = json["objects"] = Json::array();
      for (const ObjectRef& object : group.objects) {
        Json entry = {{"n", object.serial}, {"text", TextOf(object)}, {"age", object.age}};
        if (!object.remark.empty()) entry["remark"] = object.remark;
        for (const ParentRef& parent : object.parents) entry["up"].push_back({parent.kind, parent.serial});
        objects.push_back(std::move(entry));
      }
      alive.push_back(std::move(json));
    }
    return alive;
  }

  Json Lives() {
    constexpr size_t kMost = 20000;
    Json lives = Json::array();
    for (const Lifetime& life : LifetimesOf(set_)) {
      if (lives.size() >= kMost) break;
      lives.push_back(
          {life.process, life.object->kind, life.object->serial, threads_.NameOf(life.process, life.object->thread),
           life.begin, life.end, life.destroyed == nullptr ? std::string() : life.destroyed->verb,
           life.destroyed == nullptr ? std::string() : threads_.NameOf(life.process, life.destroyed->thread)});
    }
    return lives;
  }

  Json Calls() {
    Json calls = Json::array();
    for (size_t i = 0; i < set_.processes.size(); ++i) {
      for (const TimelineEntry& entry : set_.processes[i].timeline) {
        calls.push_back({i, entry.what, threads_.NameOf(static_cast<uint32_t>(i), entry.thread), entry.begin, entry.end,
                         Cat(entry.kind, " #", entry.serial), entry.result == 0 ? "" : ErrnoName(entry.result)});
      }
    }
    return calls;
  }

  const ReportSet& set_;
  const FormOptions& options_;
  StackNumbers stacks_;
  const ThreadNames threads_;
};

// "<" would begin "</script" or "<!--"; the two separators end a line of a script in older browsers.
std::string InScript(const std::string& json) {
  std::string out;
  out.reserve(json.size() + json.size() / 16);
  for (size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '<') {
      out += "\\u003c";
    } else if (json[i] == '>') {
      out += "\\u003e";
    } else if (json[i] == '&') {
      out += "\\u0026";
    } else if (json.compare(i, 3, "\xE2\x80\xA8") == 0 || json.compare(i, 3, "\xE2\x80\xA9") == 0) {
      out += json[i + 2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += json[i];
    }
  }
  return out;
}

}  // namespace

std::string RenderHtml(const ReportSet& set, const FormOptions& options) {
  const std::string json = Page(set, options).Data().dump(-1, ' ', false, Json::error_handler_t::replace);
  return Cat(kPageHead, InScript(json), kPageTail);
}

}  // namespace rdmacheck
