#include "interpose/hooks/slot_hooks.h"

#include "interpose/hooks/intercept.h"
#include "interpose/hooks/slot_patch.h"

namespace rdmacheck {
namespace {

struct ToChecker {
  template <class Row, class R, class... A>
  __attribute__((always_inline)) static R Go(R (*real)(A...), void*, A... a) {
    return Intercept<Row>(real, a...);
  }
};

}  // namespace

void AttachSlots(Checker& checker, ibv_context* context) {
  ContextSlots* const slots = FindOrAddContextSlots(context);
  if (slots == nullptr) {
    checker.Unwatched(Is<Sentence::kSlotsOutOfMemory>());
    return;
  }
  checker.hooks_slots.fetch_add(PatchSlots<ToChecker>(context, slots), std::memory_order_relaxed);
}

void DetachSlots(ibv_context* context) { RestoreSlots<ToChecker>(context); }

}  // namespace rdmacheck
