// The pointers of a context that inline verbs jump through, by the members that verbs.def names.
#pragma once

#include <cstddef>
#include <type_traits>

#include "interpose/verbs/verbs_abi.h"

namespace rdmacheck {

// The context of a verb's first argument.
inline const ibv_context* ContextOf(const ibv_context* context) { return context; }
template <class T>
const ibv_context* ContextOf(const T* object) {
  return object->context;
}

template <class Owner, class Fn>
Fn& SlotIn(ibv_context* context, Fn Owner::*slot) {
  if constexpr (std::is_same_v<Owner, ibv_context_ops>) {
    return context->ops.*slot;
  } else {
    return verbs_get_ctx(context)->*slot;
  }
}

// Does this context have the slot at all? New slots are put in front, so an older (shorter) struct ends before it.
template <class Owner, class Fn>
bool HasSlot(ibv_context* context, Fn Owner::*slot) {
  if constexpr (std::is_same_v<Owner, ibv_context_ops>) {
    return true;
  } else {
    const verbs_context* extended = verbs_get_ctx(context);
    if (extended == nullptr) return false;
    const char* const at = reinterpret_cast<const char*>(&(extended->*slot));
    const char* const end = reinterpret_cast<const char*>(extended + 1);
    return extended->sz >= static_cast<size_t>(end - at);
  }
}

// Programs built with libibverbs 1.1.8 reach the flow verbs through two older slots.
inline constexpr size_t kPlaceholders = 2;
inline void (**PlaceholderOf(verbs_context* extended, size_t i))(void) {
  return i == 0 ? &extended->ABI_placeholder1 : &extended->ABI_placeholder2;
}
inline bool HasPlaceholder(verbs_context* extended, size_t i) {
  const char* const end = reinterpret_cast<const char*>(extended + 1);
  return extended->sz >= static_cast<size_t>(end - reinterpret_cast<const char*>(PlaceholderOf(extended, i)));
}

}  // namespace rdmacheck
