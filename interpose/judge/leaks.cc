#include "interpose/judge/leaks.h"

#include <algorithm>

#include "interpose/base/clock.h"
#include "interpose/checker/checker.h"
#include "interpose/judge/judge.h"
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

std::vector<Finding> LeakFindings(Checker& checker, Rule rule, Severity severity, const std::vector<Record>& records,
                                  const Record* context, const std::string& verb, uint32_t closed_stack) {
  std::vector<Finding> findings;
  for (const std::vector<Record>& group : GroupByStack(records)) {
    const Record& first = group[0];
    Finding finding = FindingAtExit(rule, std::string());
    finding.severity = severity;
    finding.verb = verb;
    finding.has_object = true;
    finding.object = Describe(checker, first);
    // A refusal that was never made good says more than the leak it became; the last failed call of any says it for all.
    for (const Record& record : group) {
      if (record.failure.verb == nullptr) continue;
      const ObjectRef other = Describe(checker, record);
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
    if (context != nullptr) finding.related.push_back({Role::kContext, Describe(checker, *context)});
    findings.push_back(std::move(finding));
  }
  return findings;
}

std::vector<std::string> UnexplainedHints(Checker& checker, Kind kind) {
  std::vector<std::string> hints{"no tracked child explains it: what uses this " + std::string(NameOf(kind)) +
                                 " was created where rdmacheck does not look, or by another process"};
  std::string creators;
  for (const std::string& sentence : checker.UnwatchedSentences()) creators += (creators.empty() ? "" : "; ") + sentence;
  if (!creators.empty()) hints.push_back("untracked creators seen: " + creators);
  return hints;
}

void HardenRefused(Checker& checker, const std::vector<Record>& records, const std::string& when) {
  // A library's last, and of these the latest first: only the first refusal of a call of librdmacm is said, and what used
  // an object says more than the object.
  std::vector<const Record*> in_order, of_libraries;
  for (const Record& record : records) (IsProgramsOwn(checker, record) ? in_order : of_libraries).push_back(&record);
  in_order.insert(in_order.end(), of_libraries.rbegin(), of_libraries.rend());
  for (const Record* one : in_order) {
    const Record& record = *one;
    Refusal refusal;
    if (!record.Has(kRefused) || !checker.reporter().RefusalOf(record.serial, &refusal)) continue;
    Finding finding;
    finding.rule = Rule::kBusyDestroy;
    finding.severity = Severity::kError;
    finding.verb = refusal.verb;
    finding.has_object = true;
    finding.object.kind = NameOf(record.kind);
    finding.object.device = DeviceOf(checker, record);
    if (refusal.stack != 0) finding.stacks.push_back({StackRole::kHere, refusal.stack});
    if (record.stack != 0) finding.stacks.push_back({StackRole::kCreated, record.stack});
    if (checker.reporter().CountHardened(finding, record.serial)) continue;

    finding.time = EpochNow();
    finding.object = Describe(checker, record);
    finding.message = std::string(refusal.verb) + " of " + Mention(finding.object) + " was refused (" +
                      ErrnoName(refusal.result) + ") and no later try succeeded before " + when;
    finding.has_result = true;
    finding.result = refusal.result;
    std::vector<Record> children;
    if (checker.ledger().HasChildren(record.slot)) children = checker.ledger().ChildrenOf(record.slot);
    AddRelated(checker, &finding, Role::kChild, children);
    char ago[64];
    snprintf(ago, sizeof(ago), "it was refused %.1f s ago", EpochNow() - EpochOf(refusal.when));
    std::string text = ago;
    if (refusal.times > 1) text += ", the last of " + std::to_string(refusal.times) + " times";
    const bool single = children.size() == 1;
    if (!children.empty()) {
      text += ", and " + std::to_string(children.size()) + (single ? " object still uses it" : " objects still use it");
    } else if (refusal.unexplained == 0) {
      text += "; what was seen using it has been destroyed since, and the destroy was not tried again";
    } else if (refusal.unexplained < refusal.times) {
      text += ", of which " + std::to_string(refusal.unexplained) + " without a tracked child that explains it";
    }
    finding.hints.push_back(text);
    // Children that came later do not explain it either.
    if (refusal.unexplained > 0) {
      for (std::string& hint : UnexplainedHints(checker, record.kind)) finding.hints.push_back(std::move(hint));
    }
    checker.reporter().Harden(std::move(finding), record.serial);
  }
}

int JudgeGrowth(Checker& checker, Serial since) {
  std::vector<Record> grown;
  for (Record& record : checker.ledger().All()) {
    if (record.serial > since && Counts(checker, record)) grown.push_back(std::move(record));
  }
  if (!grown.empty()) {
    std::vector<Finding> findings =
        LeakFindings(checker, Rule::kOpenAtExit, Severity::kWarning, grown, nullptr, "rdmacheck_growth_end", 0);
    for (Finding& finding : findings) {
      finding.message = std::to_string(finding.count) + " " + finding.object.kind + " made since the checkpoint " +
                        (finding.count == 1 ? "still lives" : "still live");
    }
    checker.reporter().Say(std::move(findings), CountsInWords(grown) + " made since the checkpoint still live");
  }
  return static_cast<int>(grown.size());
}

}  // namespace rdmacheck
