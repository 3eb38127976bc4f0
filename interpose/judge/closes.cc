// leak-at-close: the only one who can say it is a checker, for ibv_close_device returns 0 whatever is left.
#include "interpose/judge/device_loss.h"
#include "interpose/judge/event_rules.h"
#include "interpose/judge/faults.h"
#include "interpose/judge/judge.h"
#include "interpose/judge/leaks.h"
#include "interpose/judge/witness.h"
#include "interpose/checker/checker.h"

namespace rdmacheck {

bool BeginClose(Call& call, uintptr_t context, Destruction* destruction) {
  if (!BeginDestroy(call, Kind::kContext, context, destruction)) return false;
  if (!destruction->active) return true;
  Checker& checker = call.checker();
  Ledger& ledger = checker.ledger();
  const Slot slot = destruction->found.slot;
  if (!ledger.HasChildren(slot)) {
    CompareWithKernel(checker, &call);
    return true;
  }

  const Record closed = ledger.Get(slot);
  std::vector<Record> left;
  for (Record& record : ledger.Under(slot)) {
    if (Counts(checker, record)) left.push_back(std::move(record));
  }
  if (left.empty()) CompareWithKernel(checker, &call);
  if (left.empty() || closed.Has(kInherited) || closed.Has(kIgnored) || call.ignored()) return true;
  if (closed.Has(kDeviceLost)) {
    SayAliveAfterLoss(call.checker(), closed, left, call.verb(), call.StackId());
  } else {
    std::vector<Finding> leaks =
        LeakFindings(checker, Rule::kLeakAtClose, Severity::kError, left, &closed, call.verb(), call.StackId());
    for (Finding& leak : leaks) leak.thread = DescribeThread(call.tid());
    checker.reporter().Say(std::move(leaks));
    EscalateRefused(checker, left, Sentence::kNeverRetriedClosed);
  }
  checker.reporter().WriteReport(Moment::kContextClosed);
  return true;
}

void EndClose(Call& call, Destruction* destruction, int error) {
  if (destruction->active && error == 0) {
    Ledger& ledger = call.checker().ledger();
    const Slot slot = destruction->found.slot;
    NoteClosed(call.checker(), ledger.Get(slot));
    if (ledger.HasChildren(slot)) {
      // They live on in the kernel (a mapped queue pins the file), but nothing can be done to them any more.
      ledger.SetFlagsUnder(slot, kClosed | kTold);
    }
  }
  EndDestroy(call, Kind::kContext, destruction, error);
}

}  // namespace rdmacheck
