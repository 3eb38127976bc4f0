// verbs.def → patched pointers of one ibv_context: the verbs that are inline functions and jump through them. For both
// preload libraries: `Way::Go<Row>(real, caller, a...)` is what a patched pointer leads to.
#pragma once

#include <tuple>
#include <type_traits>

#include "interpose/hooks/context_table.h"
#include "interpose/hooks/rows.h"
#include "interpose/hooks/slot_access.h"

namespace rdmacheck {

static_assert(kSlotCount <= kMaxSlots, "raise kMaxSlots");

template <class Way, class Row, class Slot>
struct SlotHook;
template <class Way, class Row, class Owner, class R, class... A>
struct SlotHook<Way, Row, R (*Owner::*)(A...)> {
  using Fn = R (*)(A...);
  static R Call(A... a) {
    // The inline function has just followed this pointer itself.
    const ContextSlots* const slots = FindContextSlots(ContextOf(std::get<0>(std::tuple<A...>(a...))));
    Fn const real = slots == nullptr ? nullptr : Original(*slots);
    return Way::template Go<Row>(real, __builtin_return_address(0), a...);
  }
  // Was there a pointer to patch?
  static bool Patch(ibv_context* context, ContextSlots* slots) {
    if (!HasSlot(context, Row::kSlot)) return false;
    Fn& slot = SlotIn(context, Row::kSlot);
    // NULL means "not supported" to the inline function, and must go on meaning it.
    if (slot == nullptr || slot == &Call) return false;
    // Another library may have patched before us: what is called is what was there, not the provider's own function.
    slots->originals[Row::kSlotIndex].store(reinterpret_cast<void*>(slot), std::memory_order_release);
    __atomic_store_n(&slot, &Call, __ATOMIC_RELEASE);
    return true;
  }
  static void Restore(ibv_context* context, const ContextSlots& slots) {
    if (!HasSlot(context, Row::kSlot)) return;
    Fn& slot = SlotIn(context, Row::kSlot);
    // Patched again by another library, which chains to us: then it stays.
    if (slot == &Call) __atomic_store_n(&slot, Original(slots), __ATOMIC_RELEASE);
  }

 private:
  static Fn Original(const ContextSlots& slots) {
    return reinterpret_cast<Fn>(slots.originals[Row::kSlotIndex].load(std::memory_order_acquire));
  }
};

// Programs built with libibverbs 1.1.8: what is called is what stood in that older slot, not in the newer one.
template <class Way, class Row, size_t kPlaceholder, class R, class A0, class... A>
R PlaceholderCall(A0 a0, A... a) {
  const ContextSlots* const slots = FindContextSlots(ContextOf(a0));
  void* const real = slots == nullptr ? nullptr : slots->placeholders[kPlaceholder].load(std::memory_order_acquire);
  return Way::template Go<Row>(reinterpret_cast<R (*)(A0, A...)>(real), __builtin_return_address(0), a0, a...);
}
template <class Way>
void (*PlaceholderHook(size_t i))(void) {
  ibv_flow* (*create)(ibv_qp*, ibv_flow_attr*) =
      &PlaceholderCall<Way, SlotRow_ibv_create_flow, 0, ibv_flow*, ibv_qp*, ibv_flow_attr*>;
  int (*destroy)(ibv_flow*) = &PlaceholderCall<Way, SlotRow_ibv_destroy_flow, 1, int, ibv_flow*>;
  return i == 0 ? reinterpret_cast<void (*)(void)>(create) : reinterpret_cast<void (*)(void)>(destroy);
}

template <class F>
void ForEachPlaceholder(ibv_context* context, F f) {
  verbs_context* const extended = verbs_get_ctx(context);
  for (size_t i = 0; extended != nullptr && i < kPlaceholders; ++i) {
    if (HasPlaceholder(extended, i)) f(i, PlaceholderOf(extended, i));
  }
}

#define RDMACHECK_SLOT_HOOK(symbol) SlotHook<Way, SlotRow_##symbol, std::remove_const_t<decltype(SlotRow_##symbol::kSlot)>>

// How many pointers were patched, without the placeholders.
template <class Way>
uint32_t PatchSlots(ibv_context* context, ContextSlots* slots) {
  uint32_t patched = 0;
#define PLT_VERB(library, version, symbol, argc, ...)
#define SLOT_VERB(symbol, slot, ...) patched += RDMACHECK_SLOT_HOOK(symbol)::Patch(context, slots);
#include "interpose/effects/all_verbs.def"
#undef PLT_VERB
#undef SLOT_VERB
  ForEachPlaceholder(context, [slots](size_t i, void (**slot)(void)) {
    if (*slot == nullptr || *slot == PlaceholderHook<Way>(i)) return;
    slots->placeholders[i].store(reinterpret_cast<void*>(*slot), std::memory_order_release);
    __atomic_store_n(slot, PlaceholderHook<Way>(i), __ATOMIC_RELEASE);
  });
  return patched;
}

template <class Way>
void RestoreSlots(ibv_context* context) {
  const ContextSlots* const slots = FindContextSlots(context);
  if (slots == nullptr) return;
#define PLT_VERB(library, version, symbol, argc, ...)
#define SLOT_VERB(symbol, slot, ...) RDMACHECK_SLOT_HOOK(symbol)::Restore(context, *slots);
#include "interpose/effects/all_verbs.def"
#undef PLT_VERB
#undef SLOT_VERB
  ForEachPlaceholder(context, [slots](size_t i, void (**slot)(void)) {
    if (*slot != PlaceholderHook<Way>(i)) return;
    __atomic_store_n(slot, reinterpret_cast<void (*)(void)>(slots->placeholders[i].load()), __ATOMIC_RELEASE);
  });
}

#undef RDMACHECK_SLOT_HOOK

}  // namespace rdmacheck
