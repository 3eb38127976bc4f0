#include "interpose/judge/leaks.h"

#include <algorithm>

#include "interpose/ledger/clock.h"
#include "interpose/runtime/runtime.h"
#include "report/errno_name.h"

namespace rdmacheck {

std::string CountsInWords(const std::vector<Record>& records) {
  std::vector<std::pair<Kind, size_t>> counts;
  for (const Record& record : records) {
    auto it = std::find_if(counts.begin(), counts.end(), [&](const auto& c) { return c.first == record.kind; });
    if (it == counts.end()) {
      counts.push_back({record.kind, 1});
    } else {
      ++it->second;
    }
  }
  std::stable_sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text = std::to_string(records.size()) + (records.size() == 1 ? " object (" : " objects (");
  for (size_t i = 0; i < counts.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(counts[i].second) + " " + NameOf(counts[i].first);
  }
  return text + ")";
}

std::vector<Finding> LeakFindings(Runtime& runtime, Rule rule, Severity severity, const std::vector<Record>& records,
                                  const Record* context, const std::string& verb, uint32_t closed_stack) {
  std::vector<Finding> findings;
  for (const std::vector<Record>& group : GroupByStack(records)) {
    const Record& first = group[0];
    Finding finding = FindingAtExit(rule, std::string());
    finding.severity = severity;
    finding.verb = verb;
    finding.has_object = true;
    finding.object = Describe(runtime, first);
    // A refusal that was never made good says more than the leak it became; the last failed call of any says it for all.
    for (const Record& record : group) {
      if (record.failure.verb == nullptr) continue;
      const ObjectRef other = Describe(runtime, record);
      finding.object.last_failed_call = other.last_failed_call;
      if (finding.object.remark.empty()) finding.object.remark = other.remark;
    }
    finding.count = group.size();
    for (const Record& record : group) finding.bytes += BytesOf(record);
    const std::string kind = NameOf(first.kind);
    const std::string amount = group.size() == 1 ? "a " + kind : std::to_string(group.size()) + " " + kind;
    finding.message = amount + (group.size() == 1 ? " lives" : " live") +
                      (context != nullptr ? " when its context is closed" : " when the process ends");
    if (first.Has(kRefused)) finding.message += ": destroy refused and never retried";
    if (first.kind == Kind::kContext && !first.was_parent) {
      finding.object.remark = "probe-only: nothing was ever created on it";
      finding.message += "; it is probe-only: nothing was ever created on it";
    }
    if (first.kind == Kind::kQp && first.numbers.c == 6) finding.message += "; it is in state ERR";
    if (first.kind == Kind::kCompChannel && !first.was_parent) finding.object.remark = "no cq was ever attached to it";
    if (first.stack != 0) finding.stacks.push_back({StackRole::kCreated, first.stack});
    if (closed_stack != 0) finding.stacks.push_back({StackRole::kClosed, closed_stack});
    if (context != nullptr) finding.related.push_back({Role::kContext, Describe(runtime, *context)});
    findings.push_back(std::move(finding));
  }
  return findings;
}

void HardenRefused(Runtime& runtime, const std::vector<Record>& records, const std::string& when) {
  for (const Record& record : records) {
    if (!record.Has(kRefused) || record.failure.verb == nullptr) continue;
    const ObjectRef object = Describe(runtime, record);
    Finding finding = FindingAtExit(
        Rule::kBusyDestroy, std::string(record.failure.verb) + " of " + Mention(object) + " was refused (" +
                                ErrnoName(record.failure.result) + ") and no later try succeeded before " + when);
    finding.verb = record.failure.verb;
    finding.has_result = true;
    finding.result = record.failure.result;
    finding.has_object = true;
    finding.object = object;
    if (record.failure.stack != 0) finding.stacks.push_back({StackRole::kHere, record.failure.stack});
    if (record.stack != 0) finding.stacks.push_back({StackRole::kCreated, record.stack});
    const std::vector<Record> children = runtime.ledger().ChildrenOf(record.slot);
    for (const Record& child : children) {
      if (finding.related.size() < 200) finding.related.push_back({Role::kChild, Describe(runtime, child)});
    }
    const double refused = EpochOf(record.failure.when);
    const double ago = EpochNow() - refused;
    char text[160];
    if (children.empty()) {
      snprintf(text, sizeof(text), "it was refused %.1f s ago; what held it has gone since, and it was never tried again", ago);
    } else {
      snprintf(text, sizeof(text), "it was refused %.1f s ago, and %zu object%s still hold it", ago, children.size(),
               children.size() == 1 ? "" : "s");
    }
    finding.hints.push_back(text);
    runtime.reporter().Harden(record.serial, std::move(finding));
  }
}

}  // namespace rdmacheck
