// Rules about using: any tracked verb that neither makes nor ends an object, given a handle that cannot be right.
#include <errno.h>

#include "interpose/judge/faults.h"
#include "interpose/judge/judge.h"
#include "interpose/checker/checker.h"

namespace rdmacheck {

bool BeginUseOfGet(Call& call, const Argument& argument) {
  if (argument.handle == 0) {
    SayNull(call, argument.kind, NullIn::kUse);
    return true;
  }
  Ledger& ledger = call.checker().ledger();
  const Found found = ledger.Pin(argument.kind, argument.handle);
  if (found.standing == Standing::kDead) {
    DeadRecord dead;
    if (!ledger.FindDead(argument.kind, argument.handle, &dead) || !IsStillDead(call.checker(), dead) || MayLiveUnseen(call.checker(), dead)) return true;
    SayDead(call, dead, Fate::kGetRefused);
    return false;
  }
  if (found.slot == 0) return true;
  const bool closed = (found.flags & kClosed) != 0;
  if (closed) SayClosed(call, found.slot, Fate::kGetRefused);
  if ((found.flags & kInherited) != 0) SayForeign(call, found.slot);
  ledger.Unpin(found.slot);
  return !closed;
}

bool BeginUse(Call& call, const Arguments& arguments) {
  Ledger& ledger = call.checker().ledger();
  for (const Argument& argument : arguments) {
    if (argument.handle == 0) {
      if (argument.required) SayNull(call, argument.kind, NullIn::kUse);
      continue;
    }
    const Found found = ledger.Pin(argument.kind, argument.handle);
    if (found.standing == Standing::kDead) {
      DeadRecord dead;
      if (ledger.FindDead(argument.kind, argument.handle, &dead) && IsStillDead(call.checker(), dead)) {
        SayDead(call, dead, Fate::kForwarded);
      }
    } else if (found.slot != 0) {
      if ((found.flags & kClosed) != 0) SayClosed(call, found.slot, Fate::kForwarded);
      if ((found.flags & kInherited) != 0) SayForeign(call, found.slot);
      ledger.Unpin(found.slot);
    }
  }
  return true;
}

void EndUse(Call& call, const Arguments& arguments, int error) {
  if (error == EOPNOTSUPP) return;  // a question about the device, not a step that went wrong
  Ledger& ledger = call.checker().ledger();
  for (const Argument& argument : arguments) {
    if (argument.handle == 0) continue;
    const Found found = ledger.Pin(argument.kind, argument.handle);
    if (found.slot == 0) continue;
    ledger.SetFailure(found.slot, call.verb(), error, call.StackId());
    ledger.Unpin(found.slot);
  }
}

}  // namespace rdmacheck
