#include "interpose/fault/patch.h"

#include "interpose/fault/forward.h"
#include "interpose/hooks/context_table.h"
#include "interpose/hooks/slot_access.h"

namespace rdmacheck::fault {
namespace {

enum SlotIndex : size_t {
#define PLT_VERB(library, version, symbol, argc, ...)
#define SLOT_VERB(symbol, slot, ...) kOriginal_##symbol,
#include "interpose/effects/verbs.def"
#undef SLOT_VERB
  kSlotCount
};
static_assert(kSlotCount <= kMaxSlots, "raise kMaxSlots");

template <class Row, size_t kOriginal, class Slot>
struct Hook;
template <class Row, size_t kOriginal, class Owner, class R, class... A>
struct Hook<Row, kOriginal, R (*Owner::*)(A...)> {
  using Fn = R (*)(A...);
  static R Call(A... a) {
    const ContextSlots* const slots = FindContextSlots(ContextOf(std::get<0>(std::tuple<A...>(a...))));
    return Forward<Row>(slots == nullptr ? nullptr : reinterpret_cast<Fn>(slots->originals[kOriginal].load()), a...);
  }
  static void Patch(ibv_context* context, ContextSlots* slots) {
    if (!HasSlot(context, Row::kSlot)) return;
    Fn& slot = SlotIn(context, Row::kSlot);
    // NULL means "not supported" to the inline function.
    if (slot == nullptr || slot == &Call) return;
    slots->originals[kOriginal].store(reinterpret_cast<void*>(slot), std::memory_order_release);
    __atomic_store_n(&slot, &Call, __ATOMIC_RELEASE);
  }
  static void Restore(ibv_context* context, ContextSlots* slots) {
    if (!HasSlot(context, Row::kSlot)) return;
    Fn& slot = SlotIn(context, Row::kSlot);
    if (slot == &Call) __atomic_store_n(&slot, reinterpret_cast<Fn>(slots->originals[kOriginal].load()), __ATOMIC_RELEASE);
  }
};

// Programs built with libibverbs 1.1.8: what is called is what stood in that older slot.
template <class Row, size_t kWhich, class R, class A0, class... A>
R PlaceholderCall(A0 a0, A... a) {
  const ContextSlots* const slots = FindContextSlots(ContextOf(a0));
  void* const real = slots == nullptr ? nullptr : slots->placeholders[kWhich].load();
  return Forward<Row>(reinterpret_cast<R (*)(A0, A...)>(real), a0, a...);
}
void (*PlaceholderHook(size_t i))(void) {
  ibv_flow* (*create)(ibv_qp*, ibv_flow_attr*) =
      &PlaceholderCall<SlotRow_ibv_create_flow, 0, ibv_flow*, ibv_qp*, ibv_flow_attr*>;
  int (*destroy)(ibv_flow*) = &PlaceholderCall<SlotRow_ibv_destroy_flow, 1, int, ibv_flow*>;
  return i == 0 ? reinterpret_cast<void (*)(void)>(create) : reinterpret_cast<void (*)(void)>(destroy);
}

template <class F>
void ForEachPlaceholder(ibv_context* context, F f) {
  verbs_context* const extended = verbs_get_ctx(context);
  for (size_t i = 0; extended != nullptr && i < kPlaceholders; ++i) {
    if (HasPlaceholder(extended, i)) f(i, PlaceholderOf(extended, i));
  }
}

#define RDMAFAULT_HOOK(symbol) \
  Hook<SlotRow_##symbol, kOriginal_##symbol, std::remove_const_t<decltype(SlotRow_##symbol::kSlot)>>

}  // namespace

void PatchContext(ibv_context* context) {
  ContextSlots* const slots = FindOrAddContextSlots(context);
  if (slots == nullptr) return;
#define SLOT_VERB(symbol, slot, ...) RDMAFAULT_HOOK(symbol)::Patch(context, slots);
#include "interpose/effects/verbs.def"
#undef SLOT_VERB
  ForEachPlaceholder(context, [slots](size_t i, void (**slot)(void)) {
    if (*slot == nullptr || *slot == PlaceholderHook(i)) return;
    slots->placeholders[i].store(reinterpret_cast<void*>(*slot), std::memory_order_release);
    __atomic_store_n(slot, PlaceholderHook(i), __ATOMIC_RELEASE);
  });
}

void RestoreContext(ibv_context* context) {
  ContextSlots* const slots = FindContextSlots(context);
  if (slots == nullptr) return;
#define SLOT_VERB(symbol, slot, ...) RDMAFAULT_HOOK(symbol)::Restore(context, slots);
#include "interpose/effects/verbs.def"
#undef SLOT_VERB
#undef PLT_VERB
  ForEachPlaceholder(context, [slots](size_t i, void (**slot)(void)) {
    if (*slot != PlaceholderHook(i)) return;
    __atomic_store_n(slot, reinterpret_cast<void (*)(void)>(slots->placeholders[i].load()), __ATOMIC_RELEASE);
  });
}

}  // namespace rdmacheck::fault
