// SARIF 2.1.0, for code scanning. One run, whatever the number of processes; each of them is an invocation.
#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/cat.h"
#include "report/forms/assets.h"
#include "report/forms/form.h"
#include "report/forms/places.h"
#include "report/modules.h"
#include "report/text_writer.h"
#include "report/version.h"

namespace rdmacheck {
namespace {

using Json = nlohmann::ordered_json;

// RFC 3986, so that a path with spaces, a percent sign or a second scheme stays a path.
std::string UriOf(std::string_view path) {
  constexpr std::string_view kPlain = "-._~/!$&'()*+,;=@";
  std::string uri = path.substr(0, 1) == "/" ? "file://" : "";
  for (const char c : path) {
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
        (kPlain.find(c) != std::string_view::npos)) {
      uri += c;
    } else {
      constexpr char kDigits[] = "0123456789ABCDEF";
      const unsigned char byte = static_cast<unsigned char>(c);
      uri += '%';
      uri += kDigits[byte >> 4];
      uri += kDigits[byte & 15];
    }
  }
  return uri;
}

const char* LevelOf(Severity severity) { return NameOf(severity); }  // SARIF has the same three words

// A brace or bracket in a message would be a placeholder or a link.
std::string MessageText(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == '\\') out += '\\';
    if (c == '{' || c == '}') out += c;
    out += c;
  }
  return out;
}
Json Message(std::string_view text) { return {{"text", MessageText(text)}}; }

class Sarif {
 public:
  explicit Sarif(const ReportSet& set) : set_(set) {}

  Json Document() {
    Json results = Json::array();
    for (const SetFinding& one : set_.findings) results.push_back(Result(one));
    Json run;
    run["tool"]["driver"] = Driver();
    run["invocations"] = Invocations();
    run["columnKind"] = "unicodeCodePoints";
    run["results"] = std::move(results);
    return {{"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
            {"version", "2.1.0"},
            {"runs", Json::array({std::move(run)})}};
  }

 private:
  Json Driver() {
    Json rules = Json::array();
    for (const std::string_view id : AllRuleIds()) {
      const Rule rule = static_cast<Rule>(rules.size());
      const RuleInfo& info = InfoOf(rule);
      const RuleHelp help = HelpOf(id);
      std::string title = info.title;
      if (!title.empty() && title[0] >= 'a' && title[0] <= 'z') title[0] = static_cast<char>(title[0] - 'a' + 'A');
      Json row = {{"id", id}, {"name", PascalCase(id)}};
      row["shortDescription"]["text"] = title + ".";
      row["fullDescription"]["text"] = help.what.empty() ? title + "." : OneLine(help.what);
      row["help"]["text"] = info.fix;
      if (!help.markdown.empty()) row["help"]["markdown"] = help.markdown;
      row["defaultConfiguration"]["level"] = LevelOf(info.severity);
      row["properties"] = {
          {"tags", {"rdma", "verbs", "resource-management"}},
          {"precision", "very-high"},
          {"problem.severity", info.severity == Severity::kNote ? "recommendation" : NameOf(info.severity)}};
      rules.push_back(std::move(row));
    }
    return {{"name", "rdmacheck"},
            {"fullName", "rdmacheck, a checker of RDMA verbs programs"},
            {"version", Version()},
            {"semanticVersion", Version()},
            {"rules", std::move(rules)}};
  }

  static std::string OneLine(std::string_view text) {
    std::string line(text);
    std::replace(line.begin(), line.end(), '\n', ' ');
    return line;
  }

  static std::string PascalCase(std::string_view id) {
    std::string name;
    bool upper = true;
    for (const char c : id) {
      if (c != '-') name += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      upper = c == '-';
    }
    return name;
  }

  Json Invocations() {
    Json invocations = Json::array();
    for (const SetProcess& process : set_.processes) {
      const ProcessInfo& info = process.process;
      Json one = {{"executionSuccessful", info.exit_status <= 0 && process.ended_by.empty()}};
      if (const std::string time = UtcTime(info.started); !time.empty()) one["startTimeUtc"] = time;
      if (const std::string time = UtcTime(info.ended); !time.empty()) one["endTimeUtc"] = time;
      if (info.exit_status >= 0) one["exitCode"] = info.exit_status;
      if (!process.ended_by.empty()) one["exitCodeDescription"] = process.ended_by;
      if (!info.host.empty()) one["machine"] = info.host;
      one["processId"] = info.pid;
      if (!info.exe.empty()) one["executableLocation"]["uri"] = UriOf(info.exe);
      for (const std::string& sentence : process.environment.unwatched) {
        one["toolExecutionNotifications"].push_back({{"level", "note"}, {"message", Message(sentence)}});
      }
      if (!info.rank.empty()) one["properties"]["rank"] = info.rank;
      invocations.push_back(std::move(one));
    }
    if (invocations.empty()) invocations.push_back({{"executionSuccessful", true}});
    return invocations;
  }

  Json Result(const SetFinding& one) {
    const Finding& finding = one.finding;
    const StackId main = MainStack(set_, finding);
    Json result = {{"ruleId", InfoOf(finding.rule).id},
                   {"ruleIndex", static_cast<size_t>(finding.rule)},
                   {"kind", "fail"},
                   {"level", LevelOf(finding.severity)},
                   {"message", Message(Sentences(set_, one))}};
    Json locations = Json::array();
    if (const Frame* place = FirstPlace(set_.stacks.Get(main))) locations.push_back(Location(*place, {}));
    // Without lines there still are functions to name.
    if (locations.empty() && !set_.stacks.Get(main).empty())
      locations.push_back(Location(set_.stacks.Get(main)[0], {}));
    if (!locations.empty()) result["locations"] = std::move(locations);
    Json related = Json::array(), stacks = Json::array();
    for (const StackRef& stack : finding.stacks) {
      const std::vector<Frame>& frames = set_.stacks.Get(stack.id);
      if (frames.empty()) continue;
      stacks.push_back(Stack(WordsOf(finding.rule, stack.role), frames));
      if (stack.id != main) AddRelated(WordsOf(finding.rule, stack.role), frames, &related);
    }
    for (const Related& other : finding.related) {
      AddRelated(Cat(NameOf(other.role), ": ", TextOf(other.object)), set_.stacks.Get(other.object.created), &related);
    }
    if (!related.empty()) result["relatedLocations"] = std::move(related);
    if (!stacks.empty()) result["stacks"] = std::move(stacks);
    result["partialFingerprints"]["rdmacheckStack/v1"] = FingerprintOf(set_, finding);
    result["occurrenceCount"] = finding.count == 0 ? 1 : finding.count;
    if (!finding.suppressed_by.empty()) {
      result["suppressions"] =
          Json::array({{{"kind", "external"}, {"status", "accepted"}, {"justification", finding.suppressed_by}}});
    }
    Json& properties = result["properties"];
    properties["processes"] = RanksInWords(set_, one.processes);
    if (!finding.verb.empty()) properties["verb"] = finding.verb;
    if (finding.has_object) properties["object"] = TextOf(finding.object);
    if (finding.bytes != 0) properties["bytes"] = finding.bytes;
    return result;
  }

  static const char* WordsOf(Rule rule, StackRole role) {
    switch (role) {
      case StackRole::kHere:
        return "Found here";
      case StackRole::kCreated:
        return "Created here";
      case StackRole::kDestroyed:
        return "Destroyed here";
      case StackRole::kClosed:
        return "Closed here";
      case StackRole::kEventTaken:
        return "Event received here";
      case StackRole::kOtherThread:
        return rule == Rule::kBlockedDestroy ? "The thread stands here" : "The other thread is here";
    }
    return "Stack";
  }

  void AddRelated(const std::string& words, const std::vector<Frame>& frames, Json* related) {
    constexpr size_t kMost = 50;  // a finding may name hundreds of children, mostly of one place
    const Frame* place = FirstPlace(frames);
    if (place == nullptr || related->size() >= kMost) return;
    Json location = Location(*place, words);
    location["id"] = related->size() + 1;
    related->push_back(std::move(location));
  }

  Json Location(const Frame& frame, const std::string& words) {
    Json location = Json::object();
    if (!frame.file.empty()) {
      location["physicalLocation"]["artifactLocation"]["uri"] = UriOf(frame.file);
      if (frame.line > 0) location["physicalLocation"]["region"]["startLine"] = frame.line;
    }
    const std::string name = NameOf(frame);
    location["logicalLocations"] = Json::array({{{"name", name}, {"fullyQualifiedName", name}, {"kind", "function"}}});
    if (!words.empty()) location["message"] = Message(words);
    return location;
  }

  Json Stack(const std::string& words, const std::vector<Frame>& frames) {
    Json list = Json::array();
    for (const Frame& frame : frames) {
      Json one = {{"location", Location(frame, {})}};
      if (!frame.module.empty()) one["module"] = LastPart(frame.module);
      list.push_back(std::move(one));
    }
    return {{"message", Message(words)}, {"frames", std::move(list)}};
  }

  const ReportSet& set_;
};

}  // namespace

std::string RenderSarif(const ReportSet& set, const FormOptions&) {
  return Sarif(set).Document().dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rdmacheck
