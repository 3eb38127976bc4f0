#include "interpose/judge/leaks.h"

#include <algorithm>

#include "interpose/base/clock.h"
#include "interpose/checker/checker.h"
#include "interpose/judge/judge.h"
#include "interpose/verbs/numbers.h"

namespace rdmacheck {

std::vector<Finding> LeakFindings(Checker& checker, Rule rule, Severity severity, const std::vector<Record>& records,
                                  const Record* context, const std::string& verb, uint32_t closed_stack) {
  const ThreadsDescribedOnce once;
  std::vector<Finding> findings;
  for (const std::vector<const Record*>& group : GroupByStack(records)) {
    const Record& first = *group[0];
    const bool at_close = context != nullptr;
    Finding finding = FindingAtExit(rule, at_close ? Is<Sentence::kOpenAtClose>(group.size(), NameOf(first.kind))
                                                   : Is<Sentence::kOpenAtExit>(group.size(), NameOf(first.kind)));
    finding.severity = severity;
    finding.verb = verb;
    finding.has_object = true;
    finding.object = Describe(checker, first);
    // A refusal that was never made good says more than the leak it became; the last failed call of any says it for all.
    const Record *failed = nullptr, *refused = nullptr;
    for (const Record* record : group) {
      if (record->failure.verb == nullptr) continue;
      failed = record;
      if (refused == nullptr && (record->Has(kRefused) || record->kind == Kind::kQp)) refused = record;
    }
    if (failed != nullptr) {
      ObjectRef other = Describe(checker, *failed);
      if (refused != nullptr) other.remark = Describe(checker, *refused).remark;
      finding.object.last_failed_call = other.last_failed_call;
      if (finding.object.remark.empty()) finding.object.remark = other.remark;
    }
    finding.count = group.size();
    for (const Record* record : group) finding.bytes += BytesOf(*record);
    if (first.Has(kRefused)) finding.says.push_back(Is<Sentence::kLeftRefused>());
    if (first.kind == Kind::kContext && !first.was_parent) {
      finding.object.remark = Words(Is<Sentence::kRemarkProbeOnly>());
      finding.says.push_back(Is<Sentence::kLeftProbeOnly>());
    }
    if (first.kind == Kind::kQp && first.numbers.c == kQpsErr) finding.says.push_back(Is<Sentence::kLeftInError>());
    if (first.kind == Kind::kCompChannel && !first.was_parent) finding.object.remark = Words(Is<Sentence::kRemarkNoCq>());
    if (first.stack != 0) finding.stacks.push_back({StackRole::kCreated, first.stack});
    if (closed_stack != 0) finding.stacks.push_back({StackRole::kClosed, closed_stack});
    if (context != nullptr) finding.related.push_back({Role::kContext, Describe(checker, *context)});
    findings.push_back(std::move(finding));
  }
  return findings;
}

void AddUnexplained(Checker& checker, Finding* finding, Kind kind) {
  finding->adds.push_back(Is<Sentence::kNoTrackedChild>(NameOf(kind)));
  std::string creators;
  for (const std::string& sentence : checker.UnwatchedSentences()) creators += (creators.empty() ? "" : "; ") + sentence;
  if (!creators.empty()) finding->adds.push_back(Is<Sentence::kUntrackedCreators>(creators));
}

void EscalateRefused(Checker& checker, const std::vector<Record>& records, Sentence when) {
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
    if (checker.reporter().CountEscalated(finding, record.serial)) continue;

    finding.time = EpochNow();
    finding.object = Describe(checker, record);
    finding.says.push_back({when, {}});
    finding.has_result = true;
    finding.result = refusal.result;
    std::vector<Record> children;
    if (checker.ledger().HasChildren(record.slot)) children = checker.ledger().ChildrenOf(record.slot);
    AddRelated(checker, &finding, Role::kChild, children);
    finding.adds.push_back(Is<Sentence::kRefusedAgo>(Seconds{EpochNow() - EpochOf(refusal.when)}));
    if (refusal.times > 1) finding.adds.push_back(Is<Sentence::kRefusedTimes>(refusal.times));
    if (!children.empty()) {
      finding.adds.push_back(Is<Sentence::kAndStillUsed>(children.size()));
    } else if (refusal.unexplained == 0) {
      finding.adds.push_back(Is<Sentence::kNotTriedAgain>());
    } else if (refusal.unexplained < refusal.times) {
      finding.adds.push_back(Is<Sentence::kSomeUnexplained>(refusal.unexplained));
    }
    // Children that came later do not explain it either.
    if (refusal.unexplained > 0) {
      AddUnexplained(checker, &finding, record.kind);
    }
    checker.reporter().Escalate(std::move(finding), record.serial);
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
      finding.says = {Is<Sentence::kCreatedSinceCheckpoint>(finding.count, finding.object.kind)};
    }
    checker.reporter().Say(std::move(findings), Is<Sentence::kAllSinceCheckpoint>(grown.size(), CountKinds(grown)));
  }
  return static_cast<int>(grown.size());
}

}  // namespace rdmacheck
