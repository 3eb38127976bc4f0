// What single verbs tell the ledger besides being born, used and destroyed.
#include <stdlib.h>
#include <string.h>

#include "interpose/judge/judge.h"
#include "interpose/hooks/disassoc.h"
#include "interpose/runtime/runtime.h"

namespace rdmacheck {

void NoteQpState(Call& call, uintptr_t qp, int state) {
  Ledger& ledger = call.runtime().ledger();
  const Found found = ledger.Pin(Kind::kQp, qp);
  if (found.slot == 0) return;
  Numbers numbers = ledger.Get(found.slot).numbers;
  numbers.c = static_cast<uint64_t>(state);
  ledger.SetNumbers(found.slot, numbers);
  ledger.Unpin(found.slot);
}

void NoteRereg(Call& call, uintptr_t mr, uintptr_t new_pd, const Numbers& numbers) {
  Ledger& ledger = call.runtime().ledger();
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
  Ledger& ledger = call.runtime().ledger();
  const Found below = ledger.Pin(child_kind, child);
  if (below.slot == 0) return;
  const Found above = ledger.Pin(parent_kind, parent);
  if (above.slot != 0) ledger.Reparent(below.slot, 0, above.slot);
  ledger.Unpin(below.slot);
}

void NoteBound(Call& call, uintptr_t mw, uintptr_t mr) {
  Ledger& ledger = call.runtime().ledger();
  const Found window = ledger.Pin(Kind::kMw, mw);
  if (window.slot == 0) return;
  Slot before = 0;
  for (Slot parent : ledger.Get(window.slot).parents) {
    if (ledger.Get(parent).kind == Kind::kMr) before = parent;
  }
  const Found region = mr == 0 ? Found() : ledger.Pin(Kind::kMr, mr);
  if (before != 0 || region.slot != 0) ledger.Reparent(window.slot, before, region.slot);
  ledger.Unpin(window.slot);
}

void NoteFirstDeviceList(Call& call) {
  Runtime& runtime = call.runtime();
  if (!runtime.disassoc_known()) runtime.SetDisassocDestroy(LibibverbsAllowsDisassociation());
}

}  // namespace rdmacheck
