// The one path of every verb: guard, before, real, after, errno. Nothing else in the project calls a real verb.
#pragma once

#include <errno.h>

#include <tuple>
#include <type_traits>

#include "interpose/hooks/reentry.h"
#include "interpose/runtime/runtime.h"
#include "interpose/verbs/effect.h"

namespace rdmacheck {

// A call that is not forwarded answers `error` in its own way: int verbs the value, pointer verbs NULL and errno, void
// ones nothing. Verbs that answer -1 and errno (descriptors, events, librdmacm) say so in their effect.
template <class Effect, class = void>
struct AnswersMinusOne : std::false_type {};
template <class Effect>
struct AnswersMinusOne<Effect, std::enable_if_t<Effect::kMinusOne>> : std::true_type {};

template <class Effect, class R>
R Refuse(int error) {
  if constexpr (std::is_void_v<R>) {
    return;
  } else if constexpr (std::is_pointer_v<R>) {
    errno = error;
    return nullptr;
  } else if constexpr (AnswersMinusOne<Effect>::value) {
    errno = error;
    return -1;
  } else {
    return error;
  }
}

template <class Effect, class = void>
struct IsCm : std::false_type {};
template <class Effect>
struct IsCm<Effect, std::enable_if_t<Effect::kCm>> : std::true_type {};

template <class Effect>
using ScopeOf = std::conditional_t<IsCm<Effect>::value, CmScope, HookScope>;

// No function on this path is noexcept: a thread may be cancelled inside the real verb and unwinds through here.
template <class Row, class R, class... A>
R Intercept(R (*real)(A...), void* caller, A... a) {
  using Effect = typename Row::Effect;
  if (real == nullptr) return Refuse<Effect, R>(EOPNOTSUPP);
  if (HookScope::Nested()) return real(a...);
  // A librdmacm call hides its own inner ones, but not the verbs inside it.
  if (IsCm<Effect>::value && (CmScope::Nested() || !Runtime::Get().options().track_rdmacm)) return real(a...);
  const int entry_errno = errno;
  Call call(Row::kName, Effect::kCreates, caller);
  const std::tuple<A...> args(a...);
  typename Effect::State state{};
  {
    HookScope ours;
    if (!Effect::Before(call, state, args)) {
      errno = entry_errno;
      return Refuse<Effect, R>(EINVAL);
    }
  }
  errno = entry_errno;
  if constexpr (std::is_void_v<R>) {
    {
      ScopeOf<Effect> scope;
      real(a...);
    }
    const int saved = errno;
    HookScope ours;
    Effect::After(call, state, args, nullptr);
    errno = saved;
  } else {
    R result;
    {
      ScopeOf<Effect> scope;
      result = real(a...);
    }
    const int saved = errno;
    HookScope ours;
    Effect::After(call, state, args, result);
    errno = saved;
    return result;
  }
}

}  // namespace rdmacheck
