// The one path of every verb: guard, before, real, after, errno. Nothing else in the project calls a real verb.
#pragma once

#include <errno.h>

#include <tuple>
#include <type_traits>

#include "interpose/checker/guard.h"
#include "interpose/effects/effect.h"
#include "interpose/hooks/reentry.h"
#include "interpose/hooks/refuse.h"
#include "interpose/hooks/slot_hooks.h"
#include "interpose/hooks/the_checker.h"

namespace rdmacheck {

template <class Effect>
using MarkedCallOf = std::conditional_t<Effect::kCm, MarkedCall<&Marks::cm>, MarkedCall<&Marks::verb>>;

// The real verb. A context's pointers are watched from its open on, and are put back before it is closed.
template <class Effect, class R, class... A>
R CallReal(Checker& checker, R (*real)(A...), A... a) {
  if constexpr (Effect::kContextStep == ContextStep::kOpens) {
    ibv_context* context = real(a...);
    const int saved = errno;
    if (context != nullptr) Guarded(checker, [&] { AttachSlots(checker, context); });
    errno = saved;
    return context;
  } else if constexpr (Effect::kContextStep == ContextStep::kCloses) {
    ibv_context* context = std::get<0>(std::tuple<A...>(a...));
    DetachSlots(context);
    const R result = real(a...);
    const int saved = errno;
    // libibverbs never refuses a close, though its man page says it may.
    if (result != 0) Guarded(checker, [&] { AttachSlots(checker, context); });
    errno = saved;
    return result;
  } else {
    return real(a...);
  }
}

// Is part of each hook, so that the hook's frame says where the program's frames begin. No function on this path is noexcept: a
// thread may be cancelled inside the real verb and unwinds through here.
template <class Row, class R, class... A>
__attribute__((always_inline)) inline R Intercept(R (*real)(A...), A... a) {
  using Effect = typename Row::Effect;
  if (real == nullptr) return Refuse<Effect, R>(EOPNOTSUPP);
  const int entry_errno = errno;
  const uintptr_t frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  const Reentry::Answer whose = Reentry::Ask(Effect::kCm, frame, __builtin_return_address(0));
  Checker* const checker = whose == Reentry::Answer::kInternal ? nullptr : TheChecker();
  if (checker == nullptr || (Effect::kCm && !checker->options().track_rdmacm)) {
    errno = entry_errno;
    return real(a...);
  }
  MarkedCallOf<Effect> marked(frame);
  Call call(*checker, Row::kName, Effect::kCreates, CallPointHere());
  const PutAside outer(call.self(), whose == Reentry::Answer::kProgramInHandler);
  call.Count();
  const std::tuple<A...> args(a...);
  typename Effect::State state{};
  if (!Guarded(*checker, true, [&] { return Effect::Before(call, state, args); })) {
    errno = entry_errno;
    return Refuse<Effect, R>(Effect::kGetsEvent ? EBADF : EINVAL);
  }
  errno = entry_errno;
  const auto finish = [&](auto result) {
    const int saved = errno;
    Guarded(*checker, [&] {
      Effect::After(call, state, args, result);
    });
    call.SetReturned(Returned::kNot);
    errno = saved;
  };
  marked.EnterReal();
  if constexpr (std::is_void_v<R>) {
    CallReal<Effect>(*checker, real, a...);
    marked.LeaveReal();
    call.SetReturned(Returned::kZero);
    finish(nullptr);
  } else {
    const R result = CallReal<Effect>(*checker, real, a...);
    marked.LeaveReal();
    call.SetReturned(result == R{} ? Returned::kZero : Returned::kOther);
    finish(result);
    return result;
  }
}

}  // namespace rdmacheck
