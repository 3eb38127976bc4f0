// verbs.def → patched pointers of one ibv_context: the verbs that are inline functions and jump through them.
#include <cstddef>

#include "interpose/hooks/context_table.h"
#include "interpose/hooks/intercept.h"
#include "interpose/hooks/slot_access.h"
#include "interpose/hooks/slot_hooks.h"

namespace rdmacheck {
namespace {

enum SlotIndex : size_t {
#define PLT_VERB(library, version, symbol, argc, ...)
#define SLOT_VERB(symbol, slot, ...) kSlot_##symbol,
#include "interpose/effects/verbs.def"
#undef SLOT_VERB
  kSlotCount
};
static_assert(kSlotCount <= kMaxSlots, "raise kMaxSlots");

#define SLOT_VERB(symbol, slot, ...)                            \
  struct SlotRow_##symbol {                                     \
    static constexpr const char* kName = #symbol;               \
    static constexpr size_t kIndex = kSlot_##symbol;            \
    static constexpr auto kSlot = slot;                         \
    using Effect = __VA_ARGS__;                                 \
  };
#include "interpose/effects/verbs.def"
#undef SLOT_VERB

template <class Row, class Slot>
struct SlotHook;
template <class Row, class Owner, class R, class... A>
struct SlotHook<Row, R (*Owner::*)(A...)> {
  using Fn = R (*)(A...);
  static R Call(A... a) {
    // The inline function has just followed this pointer itself.
    const ContextSlots* slots = FindContextSlots(ContextOf(std::get<0>(std::tuple<A...>(a...))));
    Fn real = slots == nullptr ? nullptr
                               : reinterpret_cast<Fn>(slots->originals[Row::kIndex].load(std::memory_order_acquire));
    return Intercept<Row>(real, __builtin_return_address(0), a...);
  }
  static Fn& In(ibv_context* context) { return SlotIn(context, Row::kSlot); }
  static bool Has(ibv_context* context) { return HasSlot(context, Row::kSlot); }
};

template <class Row>
using HookOf = SlotHook<Row, std::remove_const_t<decltype(Row::kSlot)>>;

template <class Row>
bool Attach(ibv_context* context, ContextSlots* slots) {
  using Hook = HookOf<Row>;
  if (!Hook::Has(context)) return false;
  auto& slot = Hook::In(context);
  // NULL means "not supported" to the inline function, and must go on meaning it.
  if (slot == nullptr || slot == &Hook::Call) return false;
  // Somebody may have patched before us: what is called is what was there, not the provider's own function.
  slots->originals[Row::kIndex].store(reinterpret_cast<void*>(slot), std::memory_order_release);
  __atomic_store_n(&slot, &Hook::Call, __ATOMIC_RELEASE);
  return true;
}

template <class Row>
void Detach(ibv_context* context, ContextSlots* slots) {
  using Hook = HookOf<Row>;
  if (!Hook::Has(context)) return;
  auto& slot = Hook::In(context);
  // Patched again by somebody else, who chains to us: then it stays.
  if (slot != &Hook::Call) return;
  auto original = reinterpret_cast<typename Hook::Fn>(slots->originals[Row::kIndex].load(std::memory_order_acquire));
  __atomic_store_n(&slot, original, __ATOMIC_RELEASE);
}

// What is called is what stood in that older slot, not in the newer one.
template <class Row, size_t kPlaceholder, class R, class A0, class... A>
R PlaceholderCall(A0 a0, A... a) {
  const ContextSlots* slots = FindContextSlots(ContextOf(a0));
  auto real = reinterpret_cast<R (*)(A0, A...)>(
      slots == nullptr ? nullptr : slots->placeholders[kPlaceholder].load(std::memory_order_acquire));
  return Intercept<Row>(real, __builtin_return_address(0), a0, a...);
}
void (*FlowHook(size_t i))(void) {
  ibv_flow* (*create)(ibv_qp*, ibv_flow_attr*) = &PlaceholderCall<SlotRow_ibv_create_flow, 0, ibv_flow*, ibv_qp*, ibv_flow_attr*>;
  int (*destroy)(ibv_flow*) = &PlaceholderCall<SlotRow_ibv_destroy_flow, 1, int, ibv_flow*>;
  return i == 0 ? reinterpret_cast<void (*)(void)>(create) : reinterpret_cast<void (*)(void)>(destroy);
}

}  // namespace

void AttachSlots(Checker& checker, ibv_context* context) {
  ContextSlots* slots = FindOrAddContextSlots(context);
  if (slots == nullptr) {
    checker.Unwatched(Is<Sentence::kSlotsOutOfMemory>());
    return;
  }
  uint32_t attached = 0;
#define SLOT_VERB(symbol, slot, ...) attached += Attach<SlotRow_##symbol>(context, slots);
#include "interpose/effects/verbs.def"
#undef SLOT_VERB
  if (verbs_context* extended = verbs_get_ctx(context)) {
    for (size_t i = 0; i < kPlaceholders; ++i) {
      if (!HasPlaceholder(extended, i)) continue;
      void (**slot)(void) = PlaceholderOf(extended, i);
      if (*slot == nullptr || *slot == FlowHook(i)) continue;
      slots->placeholders[i].store(reinterpret_cast<void*>(*slot), std::memory_order_release);
      __atomic_store_n(slot, FlowHook(i), __ATOMIC_RELEASE);
    }
  }
  checker.hooks_slots.fetch_add(attached, std::memory_order_relaxed);
}

void DetachSlots(ibv_context* context) {
  ContextSlots* slots = FindContextSlots(context);
  if (slots == nullptr) return;
#define SLOT_VERB(symbol, slot, ...) Detach<SlotRow_##symbol>(context, slots);
#include "interpose/effects/verbs.def"
#undef SLOT_VERB
#undef PLT_VERB
  if (verbs_context* extended = verbs_get_ctx(context)) {
    for (size_t i = 0; i < kPlaceholders; ++i) {
      if (!HasPlaceholder(extended, i)) continue;
      void (**slot)(void) = PlaceholderOf(extended, i);
      if (*slot != FlowHook(i)) continue;
      __atomic_store_n(slot, reinterpret_cast<void (*)(void)>(slots->placeholders[i].load()), __ATOMIC_RELEASE);
    }
  }
}

}  // namespace rdmacheck
