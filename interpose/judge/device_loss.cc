#include "interpose/judge/device_loss.h"

#include <errno.h>

#include <map>

#include "interpose/judge/leaks.h"
#include "interpose/base/clock.h"
#include "interpose/judge/timeline.h"
#include "interpose/checker/checker.h"

namespace rdmacheck {
namespace {

// Findings about a device live under keys of their own, beyond all serials.
uint64_t KeyOf(const std::string& device) { return (1ull << 63) | std::hash<std::string>()(device); }

}  // namespace

void NoteDeviceLost(Checker& checker, Slot context) {
  if (context != 0) checker.ledger().SetFlags(context, kDeviceLost);
}

bool HeldByLost(Checker& checker, const Record& record) {
  Ledger& ledger = checker.ledger();
  const Slot context = ledger.ContextOf(record.slot);
  if (context == 0 || !ledger.Get(context).Has(kDeviceLost)) return false;
  // A channel is asked for its CQs, a PD for all that is on it: whichever returned EIO is still there for the parent.
  for (const Record& child : ledger.ChildrenOf(record.slot)) {
    if (child.Has(kRefused) && child.failure.result == EIO) return true;
  }
  return false;
}

void NoteLostDestroy(Call& call, const Record& record, int error) {
  Checker& checker = call.checker();
  const Slot context = record.kind == Kind::kContext ? record.slot : checker.ledger().ContextOf(record.slot);
  NoteDeviceLost(checker, context);
  const std::string device = DeviceOf(checker, record);
  if (checker.reporter().NoteRepeat(KeyOf(device), error)) return;
  // libibverbs forgives its own destroys; a provider's and what is user space only, not.
  Finding finding = FindingOf(Rule::kAliveAfterDeviceLoss, call,
                              checker.disassoc_destroy() ? Is<Sentence::kLostNotCovered>() : Is<Sentence::kLostNotAllowed>());
  finding.has_result = true;
  finding.result = error;
  SetObject(checker, &finding, record);
  finding.object.remark.clear();
  finding.timeline = TimelineOf(checker, context);
  checker.reporter().SayOnce(std::move(finding), KeyOf(device));
}

void SayAliveAfterLoss(Checker& checker, const Record& context, const std::vector<Record>& left, const std::string& verb,
                       uint32_t here) {
  const std::string device = DeviceOf(checker, context);
  Finding more;
  AddRelated(checker, &more, Role::kChild, left);
  const KindCounts kinds = CountKinds(left);
  more.adds.push_back(Is<Sentence::kOfItStillOpen>(left.size(), kinds));
  if (checker.reporter().AddDetail(KeyOf(device), more)) return;
  Finding finding = FindingAtExit(Rule::kAliveAfterDeviceLoss, Is<Sentence::kRemovedWithOpen>(left.size(), kinds));
  finding.verb = verb;
  finding.has_object = true;
  finding.object = Describe(checker, context);
  if (here != 0) finding.stacks.push_back({StackRole::kHere, here});
  finding.related = std::move(more.related);
  finding.unlisted = std::move(more.unlisted);
  uint64_t destroyed = 0;
  double last = 0;
  for (const DeadRecord& dead : checker.ledger().Dead()) {
    if (checker.ledger().ContextOf(dead.object.parents.empty() ? 0 : dead.object.parents[0]) != context.slot) continue;
    ++destroyed;
    last = EpochOf(dead.destroyed_when);
  }
  if (destroyed > 0) {
    finding.adds.push_back(Is<Sentence::kDestroyedEarlier>(destroyed, Seconds{EpochNow() - last}));
  }
  finding.timeline = TimelineOf(checker, context.slot);
  checker.reporter().SayOnce(std::move(finding), KeyOf(device));
}

void SayLostAtExit(Checker& checker, const std::vector<Record>& left) {
  std::map<Slot, std::vector<Record>> by_context;
  for (const Record& record : left) {
    by_context[record.kind == Kind::kContext ? record.slot : checker.ledger().ContextOf(record.slot)].push_back(record);
  }
  for (const auto& [context, records] : by_context) {
    SayAliveAfterLoss(checker, checker.ledger().Get(context), records, "", 0);
  }
}

}  // namespace rdmacheck
