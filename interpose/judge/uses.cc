// Rules about using: any tracked verb that neither makes nor ends an object, given a handle that cannot be right.
#include <errno.h>

#include "interpose/judge/faults.h"
#include "interpose/judge/judge.h"
#include "interpose/runtime/runtime.h"

namespace rdmacheck {

bool BeginUse(Call& call, const Arguments& arguments) {
  Ledger& ledger = call.runtime().ledger();
  for (const Argument& argument : arguments) {
    if (argument.handle == 0) continue;  // libibverbs' own affair: null-handle speaks of creates and destroys
    const Found found = ledger.Pin(argument.kind, argument.handle);
    if (found.standing == Standing::kDead) {
      DeadRecord dead;
      if (ledger.FindDead(argument.kind, argument.handle, &dead) && IsStillDead(dead)) {
        SayDead(call, argument.kind, argument.handle, dead, false);
      }
    } else if (found.slot != 0) {
      if ((found.flags & kClosed) != 0) SayClosed(call, found.slot, false);
      if ((found.flags & kInherited) != 0) SayForeign(call, found.slot);
      ledger.Unpin(found.slot);
    }
  }
  return true;
}

void EndUse(Call& call, const Arguments& arguments, int error) {
  if (error == EOPNOTSUPP) return;  // a question about the device, not a step that went wrong
  Ledger& ledger = call.runtime().ledger();
  for (const Argument& argument : arguments) {
    if (argument.handle == 0) continue;
    const Found found = ledger.Pin(argument.kind, argument.handle);
    if (found.slot == 0) continue;
    ledger.SetFailure(found.slot, call.verb(), error, call.StackId());
    ledger.Unpin(found.slot);
  }
}

}  // namespace rdmacheck
