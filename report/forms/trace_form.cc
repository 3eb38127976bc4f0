// The trace format that Perfetto and Chrome's about:tracing open. Threads are rows: calls on events and destroys are
// bars there, a call that had not returned is one to the end of the report. Objects' lifetimes are asynchronous spans.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "report/cat.h"
#include "report/errno_name.h"
#include "report/forms/form.h"
#include "report/forms/places.h"
#include "report/modules.h"
#include "report/text_writer.h"

namespace rdmacheck {
namespace {

using Json = nlohmann::ordered_json;

class Trace {
 public:
  explicit Trace(const ReportSet& set) : set_(set), lifetimes_(LifetimesOf(set)), threads_(set) {
    std::set<int> seen;
    for (const SetProcess& process : set.processes) {
      unique_ &= seen.insert(process.process.pid).second;
      if (process.process.started > 0 && (zero_ == 0 || process.process.started < zero_))
        zero_ = process.process.started;
    }
  }

  Json Document() {
    for (uint32_t i = 0; i < set_.processes.size(); ++i) OneProcess(i);
    for (const Lifetime& life : lifetimes_) OneLife(life);
    for (const SetFinding& one : set_.findings) OneFinding(one);
    return {{"displayTimeUnit", "ms"},
            {"otherData", {{"tool", "rdmacheck"}, {"zero", UtcTime(zero_)}}},
            {"traceEvents", std::move(events_)}};
  }

 private:
  // Microseconds from the first process's start: whole numbers, which every viewer keeps exactly.
  int64_t At(double seconds) const {
    const double micros = (seconds - zero_) * 1e6;
    return micros > 0 && micros < 9e15 ? std::llround(micros) : 0;
  }

  double EndOf(uint32_t index) const {
    const ProcessInfo& process = set_.processes[index].process;
    return std::max(process.written, process.ended);
  }

  // Processes of several hosts may have one pid; then rows have numbers of ours.
  int64_t PidOf(uint32_t index) const { return unique_ ? set_.processes[index].process.pid : int64_t{index} + 1; }

  void OneProcess(uint32_t index) {
    const SetProcess& process = set_.processes[index];
    Meta("process_name", PidOf(index), 0, Cat(NameOf(set_, process), " ", LastPart(process.process.exe)));
    for (const TimelineEntry& entry : process.timeline) Call(index, entry);
  }

  void Meta(const char* what, int64_t pid, int64_t tid, const std::string& name) {
    events_.push_back({{"name", what}, {"ph", "M"}, {"pid", pid}, {"tid", tid}, {"args", {{"name", name}}}});
  }

  int64_t RowOf(uint32_t process, const ThreadRef& thread) {
    const int64_t pid = PidOf(process);
    if (rows_.emplace(pid, thread.tid).second) {
      Meta("thread_name", pid, thread.tid, threads_.NameOf(process, thread));
    }
    return thread.tid;
  }

  void Call(uint32_t process, const TimelineEntry& entry) {
    const bool inside = entry.end == 0;
    const int64_t begin = At(entry.begin), end = std::max(At(inside ? EndOf(process) : entry.end), begin);
    Json args = {{"object", Cat(entry.kind, " #", entry.serial)}};
    if (entry.result != 0) args["result"] = ErrnoName(entry.result);
    if (inside) args["state"] = "had not returned";
    events_.push_back({{"name", entry.what},
                       {"cat", inside ? "blocked" : "call"},
                       {"ph", "X"},
                       {"ts", begin},
                       {"dur", end - begin},
                       {"pid", PidOf(process)},
                       {"tid", RowOf(process, entry.thread)},
                       {"args", std::move(args)}});
  }

  void OneLife(const Lifetime& life) {
    const ObjectRef& object = *life.object;
    const std::string id = Cat(life.process, ".", object.serial);
    const int64_t begin = At(life.begin);
    const int64_t end = std::max(At(life.end == 0 ? EndOf(life.process) : life.end), begin);
    Json args = {{"object", TextOf(object)}, {"origin", object.origin}};
    args["destroyed"] = life.destroyed == nullptr ? "no" : life.destroyed->verb;
    Json span = {{"name", Cat(object.kind, " #", object.serial)},
                 {"cat", object.kind},
                 {"ph", "b"},
                 {"id", id},
                 {"ts", begin},
                 {"pid", PidOf(life.process)},
                 {"tid", RowOf(life.process, object.thread)},
                 {"args", std::move(args)}};
    events_.push_back(span);
    span.erase("args");
    span["ph"] = "e";
    span["ts"] = end;
    events_.push_back(std::move(span));
  }

  void OneFinding(const SetFinding& one) {
    const Finding& finding = one.finding;
    if (one.processes.empty() || !finding.suppressed_by.empty()) return;
    const uint32_t process = one.processes.ranges().front().first;
    if (process >= set_.processes.size()) return;
    events_.push_back({{"name", InfoOf(finding.rule).id},
                       {"cat", NameOf(finding.severity)},
                       {"ph", "i"},
                       {"s", "t"},
                       {"ts", At(finding.time)},
                       {"pid", PidOf(process)},
                       {"tid", RowOf(process, finding.thread)},
                       {"args", {{"message", Sentences(set_, one)}}}});
  }

  const ReportSet& set_;
  const std::vector<Lifetime> lifetimes_;
  const ThreadNames threads_;
  double zero_ = 0;
  bool unique_ = true;
  std::set<std::pair<int64_t, int64_t>> rows_;
  Json events_ = Json::array();
};

}  // namespace

std::string RenderTrace(const ReportSet& set, const FormOptions&) {
  return Trace(set).Document().dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rdmacheck
