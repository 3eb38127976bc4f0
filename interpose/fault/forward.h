// The one path of every verb here: is it to fail, to wait, or to lose its device? Else the real one.
#pragma once

#include <errno.h>

#include <tuple>

#include "interpose/fault/call_stack.h"
#include "interpose/fault/device_loss.h"
#include "interpose/fault/faults.h"
#include "interpose/fault/patch.h"
#include "interpose/hooks/refuse.h"
#include "interpose/hooks/rows.h"

namespace rdmacheck::fault {

// What has to be done at some verbs whatever the faults are: inline verbs are reached through a context's pointers, and a
// device that may be lost is known by its contexts and channels.
template <class Effect>
struct Upkeep {
  template <class Args>
  static void Before(const Args&) {}
  template <class Args, class R>
  static R After(const Args&, R result) {
    return result;
  }
};

template <Origin kOrigin>
struct Upkeep<OpensAs<kOrigin>> {
  template <class Args>
  static void Before(const Args&) {}
  template <class Args>
  static ibv_context* After(const Args&, ibv_context* context) {
    if (context != nullptr) {
      PatchContext(context);
      NoteContext(context);
    }
    return context;
  }
};

template <>
struct Upkeep<Closes> {
  template <class Args>
  static void Before(const Args& args) {
    if (std::get<0>(args) == nullptr) return;
    ForgetContext(std::get<0>(args));
    RestoreContext(std::get<0>(args));
  }
  template <class Args, class R>
  static R After(const Args&, R result) {
    return result;
  }
};

template <class Parents>
struct Upkeep<Creates<Kind::kCompChannel, Parents>> {
  template <class Args>
  static void Before(const Args&) {}
  template <class Args>
  static ibv_comp_channel* After(const Args&, ibv_comp_channel* channel) {
    if (channel != nullptr) NoteChannel(channel);
    return channel;
  }
};

template <>
struct Upkeep<Destroys<Kind::kCompChannel>> {
  // Its descriptor's number may be given to another thread before the call returns.
  template <class Args>
  static void Before(const Args& args) {
    if (std::get<0>(args) != nullptr) ForgetChannel(std::get<0>(args));
  }
  template <class Args>
  static int After(const Args& args, int result) {
    if (result != 0 && std::get<0>(args) != nullptr) NoteChannel(std::get<0>(args));
    return result;
  }
};

inline const char* NameOfOpened(const ibv_device* device) { return device == nullptr ? nullptr : device->name; }
inline const char* NameOfOpened(int) { return nullptr; }  // a descriptor, of a context that is open elsewhere

template <class Row, class R, class... A>
R Forward(R (*real)(A...), A... a) {
  using Effect = typename Row::Effect;
  if (real == nullptr) return Refuse<Effect, R>(EOPNOTSUPP);
  Passage passage;
  const bool concerned = Concerns(Row::kIndex);
  if (__builtin_expect(concerned, false)) BeginPassage(Row::kIndex, Effect::kCm, &passage);
  if constexpr (std::is_void_v<R>) {
    {
      InsideCall inside(Effect::kCm, __builtin_frame_address(0));
      real(a...);
    }
    EndPassage(passage);
  } else {
    if (__builtin_expect(passage.error != 0, false)) {
      EndPassage(passage);
      return Refuse<Effect, R>(passage.error);
    }
    const std::tuple<A...> args(a...);
    if constexpr (std::is_same_v<R, ibv_context*>) {
      if (const char* const name = NameOfOpened(std::get<0>(args))) {
        if (const int error = ErrorOfOpeningDevice(name)) return Refuse<Effect, R>(error);
      }
    }
    Upkeep<Effect>::Before(args);
    R result;
    {
      InsideCall inside(Effect::kCm, __builtin_frame_address(0));
      if constexpr (Effect::kGetsEvent) {
        InsideGet get(passage);
        result = real(a...);
      } else {
        result = real(a...);
      }
    }
    result = Upkeep<Effect>::After(args, result);
    EndPassage(passage);
    return result;
  }
}

}  // namespace rdmacheck::fault
