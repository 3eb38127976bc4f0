// What single verbs tell the ledger besides being born, used and destroyed.
#include <stdlib.h>
#include <string.h>

#include "interpose/judge/judge.h"
#include "interpose/checker/checker.h"
#include "interpose/libraries/real_symbol.h"

namespace rdmacheck {

void NoteQpState(Call& call, uintptr_t qp, int state) {
  Ledger& ledger = call.checker().ledger();
  const Found found = ledger.Pin(Kind::kQp, qp);
  if (found.slot == 0) return;
  Numbers numbers = ledger.Get(found.slot).numbers;
  numbers.c = static_cast<uint64_t>(state);
  ledger.SetNumbers(found.slot, numbers);
  ledger.Unpin(found.slot);
}

void NoteRereg(Call& call, uintptr_t mr, uintptr_t new_pd, const Numbers& numbers) {
  Ledger& ledger = call.checker().ledger();
  const Found found = ledger.Pin(Kind::kMr, mr);
  if (found.slot == 0) return;
  ledger.SetNumbers(found.slot, numbers);
  if (new_pd != 0) {
    const Record record = ledger.Get(found.slot);
    const Found pd = ledger.Pin(Kind::kPd, new_pd);
    if (pd.slot != 0) ledger.Reparent(found.slot, record.parents.empty() ? 0 : record.parents[0], pd.slot);
  }
  ledger.Unpin(found.slot);
}

void NoteLink(Call& call, Kind child_kind, uintptr_t child, Kind parent_kind, uintptr_t parent) {
  Ledger& ledger = call.checker().ledger();
  const Found below = ledger.Pin(child_kind, child);
  if (below.slot == 0) return;
  const Found above = ledger.Pin(parent_kind, parent);
  if (above.slot != 0) ledger.Reparent(below.slot, 0, above.slot);
  ledger.Unpin(below.slot);
}

void NoteMoved(Call& call, Kind child_kind, uintptr_t child, Kind parent_kind, uintptr_t parent) {
  Ledger& ledger = call.checker().ledger();
  const Found below = ledger.Pin(child_kind, child);
  if (below.slot == 0) return;
  Slot before = 0;
  for (Slot up : ledger.Get(below.slot).parents) {
    if (ledger.Get(up).kind == parent_kind) before = up;
  }
  const Found above = parent == 0 ? Found() : ledger.Pin(parent_kind, parent);
  if (before != 0 || above.slot != 0) ledger.Reparent(below.slot, before, above.slot);
  ledger.Unpin(below.slot);
}

void NoteFirstDeviceList(Call& call) {
  Checker& checker = call.checker();
  if (!checker.disassoc_known()) checker.SetDisassocDestroy(LibibverbsAllowsDisassociation());
}

}  // namespace rdmacheck
