#include "report/json_writer.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "report/cat.h"
#include "report/json_values.h"
#include "report/version.h"

namespace rdmacheck {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no infinities; times are said to the microsecond, which a double of today's epoch still holds.
Json Time(double seconds) {
  if (!std::isfinite(seconds)) return 0;
  return static_cast<double>(ToNearest(seconds * 1e6)) / 1e6;
}
Json TimeOrNull(double seconds) { return seconds == 0 ? Json() : Time(seconds); }

Json TextOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

}  // namespace

class JsonValues::Writer {
 public:
  explicit Writer(FrameSource& frames) : frames_(frames) {}

  Json Document(const Report& report) {
    Json findings = Json::array();
    for (const Finding& finding : report.findings) findings.push_back(OneFinding(finding));
    Json alive = Json::array();
    for (const AliveGroup& group : report.alive) alive.push_back(Alive(group));
    Json document = JsonValues::Head();
    document["process"] = Process(report.process);
    document["environment"] = Environment(report.environment);
    document["summary"] = OneSummary(report.summary);
    document["findings"] = std::move(findings);
    document["alive"] = std::move(alive);
    if (!report.destroyed.empty()) document["destroyed"] = LastDestroyed(report.destroyed);
    if (!report.timeline.empty()) document["timeline"] = Timeline(report.timeline);
    if (!report.injected.empty()) document["injected_faults"] = Injected(report.injected);
    return document;
  }

  static Json Process(const ProcessInfo& process) {
    return {{"pid", process.pid},
            {"ppid", process.ppid},
            {"exe", process.exe},
            {"host", process.host},
            {"rank", TextOrNull(process.rank)},
            {"started", Time(process.started)},
            {"ended", TimeOrNull(process.ended)},
            {"exit_status", process.exit_status < 0 ? Json() : Json(process.exit_status)},
            {"written", TimeOrNull(process.written)}};
  }

  static Json Environment(const EnvironmentInfo& environment) {
    Json json = {{"libibverbs", TextOrNull(environment.libibverbs)},
                 {"librdmacm", TextOrNull(environment.librdmacm)},
                 {"disassoc_destroy", environment.disassoc_destroy},
                 {"hooks",
                  {{"plt", environment.hooks_plt}, {"slots", environment.hooks_slots}, {"dlsym", environment.hooks_dlsym}}},
                 {"unwatched", environment.unwatched}};
    if (!environment.verified.empty()) json["verified"] = environment.verified;
    return json;
  }

  Json OneSummary(const Summary& summary) {
    Json kinds = Json::object();
    for (const KindCount& kind : summary.kinds) {
      kinds[kind.kind] = {{"created", kind.created}, {"destroyed", kind.destroyed}, {"alive", kind.alive}};
    }
    Json growth = Json::array();
    for (const Growth& one : summary.growth) {
      growth.push_back({{"kind", one.kind},
                        {"created", one.created},
                        {"destroyed", one.destroyed},
                        {"alive", one.alive},
                        {"stack", Stack(one.stack)}});
    }
    Json json = {{"errors", summary.errors},         {"warnings", summary.warnings}, {"notes", summary.notes},
                 {"suppressed", summary.suppressed}, {"calls", summary.calls},       {"kinds", std::move(kinds)},
                 {"growth", std::move(growth)}};
    if (summary.lost_texts != 0) json["lost_texts"] = summary.lost_texts;
    if (summary.not_listed != 0) json["not_listed"] = summary.not_listed;
    return json;
  }

  Json OneFinding(const Finding& finding) {
    Json related = Json::array();
    for (const Related& one : finding.related) {
      related.push_back({{"role", NameOf(one.role)}, {"object", Object(one.object, true)}});
    }
    Json stacks = Json::array();
    for (const StackRef& stack : finding.stacks) {
      stacks.push_back({{"role", NameOf(stack.role)}, {"frames", Stack(stack.id)}});
    }
    Json json = {
        {"rule", InfoOf(finding.rule).id},  {"severity", NameOf(finding.severity)},
        {"message", finding.message},       {"time", Time(finding.time)},
        {"verb", TextOrNull(finding.verb)}, {"result", finding.has_result ? Json(finding.result) : Json()},
        {"thread", Thread(finding.thread)}, {"object", finding.has_object ? Object(finding.object, false) : Json()},
        {"related", std::move(related)},    {"stacks", std::move(stacks)},
        {"count", finding.count},           {"suppressed_by", TextOrNull(finding.suppressed_by)}};
    if (finding.bytes != 0) json["bytes"] = finding.bytes;
    if (finding.times > 1) json["times"] = finding.times;
    if (finding.objects != 0) json["objects"] = finding.objects;
    if (finding.resolved != 0) json["resolved"] = finding.resolved;
    if (!finding.unlisted.empty()) {
      Json counts = Json::object();
      uint64_t total = 0;
      for (const Unlisted& some : finding.unlisted) {
        total += some.count;
        counts[some.kind] = counts.value(some.kind, uint64_t{0}) + some.count;
      }
      json["related_not_listed"] = {{"count", total}, {"kinds", std::move(counts)}};
    }
    for (const Group& group : finding.groups) {
      Json one = {{"kind", group.kind}, {"count", group.count}, {"stack", Stack(group.stack)}};
      if (group.bytes != 0) one["bytes"] = group.bytes;
      if (!group.oldest.kind.empty()) one["oldest"] = Object(group.oldest, false);
      json["groups"].push_back(std::move(one));
    }
    if (!finding.hints.empty()) json["hints"] = finding.hints;
    if (!finding.timeline.empty()) json["timeline"] = Timeline(finding.timeline);
    if (!finding.injected.fault.empty()) json["injected_fault"] = OneInjected(finding.injected);
    if (finding.injected_here) json["injected_here"] = true;
    return json;
  }

  Json OneInjected(const InjectedFault& one) {
    return {{"fault", one.fault},         {"verb", TextOrNull(one.verb)}, {"call", one.call},
            {"result", one.result},       {"device", TextOrNull(one.device)}, {"time", Time(one.time)},
            {"thread", Thread(one.thread)}, {"stack", Stack(one.stack)}};
  }
  Json Injected(const std::vector<InjectedFault>& injected) {
    Json json = Json::array();
    for (const InjectedFault& one : injected) json.push_back(OneInjected(one));
    return json;
  }

  static Json Timeline(const std::vector<TimelineEntry>& entries) {
    Json json = Json::array();
    for (const TimelineEntry& entry : entries) {
      json.push_back({{"what", entry.what},
                      {"thread", Thread(entry.thread)},
                      {"begin", Time(entry.begin)},
                      {"end", TimeOrNull(entry.end)},
                      {"kind", entry.kind},
                      {"serial", entry.serial},
                      {"result", entry.result}});
    }
    return json;
  }

  Json LastDestroyed(const std::vector<Destroyed>& destroyed) {
    Json json = Json::array();
    for (const Destroyed& one : destroyed) {
      json.push_back({{"object", Object(one.object, false)},
                      {"time", Time(one.time)},
                      {"thread", Thread(one.thread)},
                      {"verb", TextOrNull(one.verb)}});
    }
    return json;
  }

  Json Alive(const AliveGroup& group) {
    Json objects = Json::array();
    for (const ObjectRef& object : group.objects) objects.push_back(Object(object, false));
    return {{"kind", group.kind},
            {"device", TextOrNull(group.device)},
            {"count", group.count},
            {"bytes", group.bytes},
            {"stack", Stack(group.stack)},
            {"objects", std::move(objects)},
            {"last_failed_call", FailedCallOrNull(group.last_failed_call)}};
  }

  // The creating stack stands with what holds the object, except for related ones.
 private:
  Json Object(const ObjectRef& object, bool with_stack) {
    Json numbers = Json::object();
    for (const Number& number : object.numbers) numbers[number.name] = number.value;
    Json json = {{"kind", object.kind},           {"serial", object.serial}, {"device", TextOrNull(object.device)},
                 {"numbers", std::move(numbers)}, {"age", Time(object.age)}, {"origin", object.origin}};
    if (!object.owner.empty()) json["owner"] = object.owner;
    if (object.thread.tid != 0) json["thread"] = Thread(object.thread);
    if (object.bytes != 0) json["bytes"] = object.bytes;
    if (!object.last_failed_call.verb.empty()) json["last_failed_call"] = FailedCallOrNull(object.last_failed_call);
    for (const ParentRef& parent : object.parents) {
      json["parents"].push_back({{"kind", parent.kind}, {"serial", parent.serial}});
    }
    if (!object.remark.empty()) json["remark"] = object.remark;
    if (with_stack && object.created != kNoStack) json["stack"] = Stack(object.created);
    return json;
  }

  static Json FailedCallOrNull(const FailedCall& call) {
    if (call.verb.empty()) return {};
    return {{"verb", call.verb}, {"result", call.result}, {"time", Time(call.time)}};
  }

  static Json Thread(const ThreadRef& thread) {
    Json json = {{"tid", thread.tid}, {"name", thread.name}};
    if (thread.exited) json["exited"] = true;
    return json;
  }

  Json Stack(StackId id) {
    Json frames = Json::array();
    for (const Frame& frame : frames_.FramesOf(id)) {
      frames.push_back({{"function", TextOrNull(frame.function)},
                        {"file", TextOrNull(frame.file)},
                        {"line", frame.line > 0 ? Json(frame.line) : Json()},
                        {"module", TextOrNull(frame.module)},
                        {"offset", frame.offset},
                        {"build_id", TextOrNull(frame.build_id)}});
      if (frame.is_python()) frames.back()["language"] = "python";
    }
    return frames;
  }

  FrameSource& frames_;
};

JsonValues::JsonValues(FrameSource& frames) : writer_(std::make_unique<Writer>(frames)) {}
JsonValues::~JsonValues() = default;
Json JsonValues::Head() {
  return {{"schema", kReportSchema},
          {"version", kReportVersion},
          {"tool", {{"name", "rdmacheck"}, {"version", Version()}}}};
}
Json JsonValues::Of(const ProcessInfo& process) { return Writer::Process(process); }
Json JsonValues::Of(const EnvironmentInfo& environment) { return Writer::Environment(environment); }
Json JsonValues::Of(const Summary& summary) { return writer_->OneSummary(summary); }
Json JsonValues::Of(const Finding& finding) { return writer_->OneFinding(finding); }
Json JsonValues::Of(const AliveGroup& group) { return writer_->Alive(group); }
Json JsonValues::Of(const std::vector<Destroyed>& destroyed) { return writer_->LastDestroyed(destroyed); }
Json JsonValues::Of(const std::vector<TimelineEntry>& timeline) { return Writer::Timeline(timeline); }
Json JsonValues::Of(const std::vector<InjectedFault>& injected) { return writer_->Injected(injected); }

// A line for each finding, group and entry: with a line for each value, most of a large report was spaces.
std::string JsonOf(const Report& report, FrameSource& frames) {
  const Json document = JsonValues::Writer(frames).Document(report);
  auto one_line = [](const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); };
  std::string text = "{";
  const char* separator = "\n ";
  for (const auto& [name, value] : document.items()) {
    text += Cat(separator, "\"", name, "\": ");
    separator = ",\n ";
    if (!value.is_array() || value.empty()) {
      for (char c : value.dump(1, ' ', false, Json::error_handler_t::replace)) text += c == '\n' ? "\n " : std::string(1, c);
      continue;
    }
    const char* before = "[\n  ";
    for (const Json& element : value) {
      text += before;
      text += one_line(element);
      before = ",\n  ";
    }
    text += "\n ]";
  }
  return text + "\n}\n";
}

}  // namespace rdmacheck
