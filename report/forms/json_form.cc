// Many processes in one JSON report: that of one process, with `processes` beside it and `processes` and `ranks` in
// each finding. What stood for one process stands for the first, so a reader of plain reports can read this one.
#include <nlohmann/json.hpp>
#include <utility>

#include "report/forms/form.h"
#include "report/json_values.h"

namespace rdmacheck {
namespace {

using Json = nlohmann::ordered_json;

Json RangesOf(const IndexSet& indexes) {
  Json ranges = Json::array();
  for (const IndexSet::Range& range : indexes.ranges()) ranges.push_back({range.first, range.last});
  return ranges;
}

}  // namespace

std::string RenderJson(const ReportSet& set, const FormOptions&) {
  // A FrameSource may make its frames when it is asked, so asking is not const; this one only looks them up.
  JsonValues values(const_cast<StackTable&>(set.stacks));
  Json document = JsonValues::Head();
  const SetProcess none;
  const SetProcess& first = set.processes.empty() ? none : set.processes.front();
  document["process"] = JsonValues::Of(first.process);
  document["environment"] = JsonValues::Of(first.environment);
  document["summary"] = values.Of(TotalsOf(set));
  Json& processes = document["processes"] = Json::array();
  for (const SetProcess& process : set.processes) {
    Json& one = processes.emplace_back();
    one = {{"file", process.file},
           {"process", JsonValues::Of(process.process)},
           {"environment", JsonValues::Of(process.environment)},
           {"summary", values.Of(process.summary)},
           {"ended_by", process.ended_by.empty() ? Json() : Json(process.ended_by)}};
    if (!process.remarks.empty()) one["remarks"] = process.remarks;
    if (!process.destroyed.empty()) one["destroyed"] = values.Of(process.destroyed);
    if (!process.timeline.empty()) one["timeline"] = JsonValues::Of(process.timeline);
    if (!process.injected.empty()) one["injected_faults"] = values.Of(process.injected);
  }
  Json& findings = document["findings"] = Json::array();
  for (const SetFinding& one : set.findings) {
    Json finding = values.Of(one.finding);
    finding["processes"] = RangesOf(one.processes);
    finding["ranks"] = RanksInWords(set, one.processes);
    findings.push_back(std::move(finding));
  }
  Json& alive = document["alive"] = Json::array();
  for (const SetAlive& one : set.alive) {
    Json group = values.Of(one.group);
    group["processes"] = RangesOf(one.processes);
    alive.push_back(std::move(group));
  }
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rdmacheck
