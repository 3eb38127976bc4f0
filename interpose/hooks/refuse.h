// What a call returns that is not forwarded.
#pragma once

#include <errno.h>

#include <type_traits>

namespace rdmacheck {

// A call that is not forwarded returns `error` in its own way: int verbs the value, pointer verbs NULL and errno, void
// ones nothing. Verbs that return -1 and errno (descriptors, events, librdmacm) say so in their effect.
template <class Effect, class R>
R Refuse(int error) {
  if constexpr (std::is_void_v<R>) {
    return;
  } else if constexpr (std::is_pointer_v<R>) {
    errno = error;
    return nullptr;
  } else if constexpr (Effect::kMinusOne) {
    errno = error;
    return -1;
  } else {
    return error;
  }
}

}  // namespace rdmacheck
