#include "interpose/judge/device_loss.h"

#include <errno.h>

#include <map>

#include "interpose/judge/leaks.h"
#include "interpose/base/clock.h"
#include "interpose/judge/timeline.h"
#include "interpose/checker/checker.h"
#include "report/errno_name.h"

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
  // A channel is asked for its CQs, a PD for all that is on it: whichever answered EIO is still there for the parent.
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
  if (checker.reporter().Again(KeyOf(device), error)) return;
  Finding finding = FindingOf(Rule::kAliveAfterDeviceLoss, call,
                              device + " is gone: " + call.verb() + " answers " + ErrnoName(error) +
                                  " and the object's user memory stays" +
                                  // libibverbs forgives its own destroys; a provider's and what is user space only, not.
                                  (checker.disassoc_destroy() ? "; RDMAV_ALLOW_DISASSOC_DESTROY does not cover this verb"
                                                              : "; with RDMAV_ALLOW_DISASSOC_DESTROY=1 such a destroy "
                                                                "counts as done"));
  finding.has_result = true;
  finding.result = error;
  finding.has_object = true;
  finding.object = Describe(checker, record);
  finding.object.remark.clear();
  finding.stacks.push_back({StackRole::kCreated, record.stack});
  finding.timeline = TimelineOf(checker, context);
  checker.reporter().SayOnce(std::move(finding), KeyOf(device));
}

void SayAliveAfterLoss(Checker& checker, const Record& context, const std::vector<Record>& left, const std::string& verb,
                       uint32_t here) {
  const std::string device = DeviceOf(checker, context);
  Finding more;
  AddRelated(checker, &more, Role::kChild, left);
  const std::string are_open = CountsInWords(left) + " of it " + (left.size() == 1 ? "is" : "are") + " still open";
  more.hints.push_back(are_open);
  if (checker.reporter().Complete(KeyOf(device), more)) return;
  Finding finding = FindingAtExit(Rule::kAliveAfterDeviceLoss,
                                  device + " is gone, and " + are_open);
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
    char text[120];
    snprintf(text, sizeof(text), "%llu object%s of it went before, the last %.1f s ago",
             static_cast<unsigned long long>(destroyed), destroyed == 1 ? "" : "s", EpochNow() - last);
    finding.hints.push_back(text);
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
