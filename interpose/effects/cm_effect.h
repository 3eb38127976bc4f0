// What librdmacm's calls do to the ledger: the words of rdmacm.def, beside those of effects/effect.h.
//
// Unlike a verb, such a call does not hide the verbs inside it: a QP that rdma_create_qp makes is a QP.
#pragma once

#include <netdb.h>

#include "interpose/verbs/cm_abi.h"
#include "interpose/judge/cm_judge.h"
#include "interpose/base/clock.h"
#include "interpose/effects/effect.h"

namespace rdmacheck {

struct CmEffect : EffectDefaults {
  static constexpr bool kCm = true;
  static constexpr bool kMinusOne = true;
};

// The same of an effect that is written for verbs.
template <class Effect>
struct OfCm : Effect {
  static constexpr bool kCm = true;
  static constexpr bool kMinusOne = true;
};

template <Kind kKind>
struct CmCreates : OfCm<Creates<kKind, Under<>>> {
  // Said again here, where the NumbersOf of librdmacm's own types is known.
  template <class Args, class T>
  static void After(Call& call, typename Creates<kKind, Under<>>::State& state, const Args&, T* object) {
    EndCreate(call, kKind, HandleOf(object), object == nullptr ? Numbers() : NumbersOf(object), Origin::kCreated,
              object == nullptr ? ErrorOfNull() : 0, &state.pins);
  }
};

// NULL does nothing: rdma_free_devices is free(3), and users of rdma_freeaddrinfo expect it as of freeaddrinfo(3).
template <Kind kKind>
struct CmFrees : OfCm<Destroys<kKind>> {
  template <class Args>
  static bool Before(Call& call, Destruction& state, const Args& args) {
    return std::get<0>(args) == nullptr || Destroys<kKind>::Before(call, state, args);
  }
};

inline CmBelongings BelongingsOf(const rdma_cm_id* id) {
  CmBelongings all;
  auto add = [&all](auto* object) {
    if (object != nullptr) all.objects[all.count++] = ArgumentOf(object, false);
  };
  add(id->qp);
  add(id->srq);
  add(id->send_cq);
  if (id->recv_cq != id->send_cq) add(id->recv_cq);
  add(id->send_cq_channel);
  if (id->recv_cq_channel != id->send_cq_channel) add(id->recv_cq_channel);
  return all;
}

// The id stands behind the pointer-to-pointer argument kOut.
template <size_t kOut>
struct CmMakesId : CmEffect {
  static constexpr Kind kCreates = Kind::kCmId;
  using State = CmCreate;
  template <class Args>
  using First = std::decay_t<std::tuple_element_t<0, Args>>;
  template <class Args>
  static bool Before(Call& call, State& state, const Args& args) {
    state = BeginCmCreate();
    Arguments arguments;
    // rdma_create_id: the channel; rdma_get_request: the listening id. NULL (a synchronous id) is legal for the first.
    if constexpr (kOut == 0) {
      if (std::get<1>(args) == nullptr) return RefuseNull(call, "cm_addrinfo");
    } else if constexpr (std::is_same_v<First<Args>, rdma_cm_id*>) {
      if (std::get<0>(args) == nullptr) return RefuseNull(call, Kind::kCmId);
    }
    if constexpr (kOut == 1) OptArg<0>::Collect(args, &arguments);
    return BeginUse(call, arguments);
  }
  template <class Args>
  static void After(Call& call, State& state, const Args& args, int result) {
    rdma_cm_id* const* out = std::get<kOut>(args);
    if (result != 0 || out == nullptr || *out == nullptr) {
      Arguments arguments;
      if constexpr (kOut == 1) OptArg<0>::Collect(args, &arguments);
      const int error = ErrorOf(result);
      EndUse(call, arguments, error);
      // A request that has not come yet on a channel that does not block is no shortage.
      const bool waits = std::is_same_v<First<Args>, rdma_cm_id*> && error == EAGAIN;
      if (result != 0 && !waits) EndFailedCmCreate(call, Kind::kCmId, state, error);
      return;
    }
    rdma_cm_id* const id = *out;
    // A synchronous id has a channel of librdmacm's own, which is no object of the program.
    uintptr_t channel = 0;
    if constexpr (std::is_same_v<std::decay_t<std::tuple_element_t<0, Args>>, rdma_event_channel*>) {
      channel = HandleOf(std::get<0>(args));
    }
    NoteCmId(call, HandleOf(id), channel);
    NoteCmBelongings(call, HandleOf(id), BelongingsOf(id));
  }
};

// (id, …): looked at before, and what the id has come by noted after.
struct CmUsesId : CmEffect {
  template <class Args>
  static bool Before(Call& call, State&, const Args& args) {
    Arguments arguments;
    Arg<0>::Collect(args, &arguments);
    return BeginUse(call, arguments);
  }
  template <class Args, class R>
  static void After(Call& call, State&, const Args& args, R result) {
    const int error = ErrorOf(result);
    if (std::get<0>(args) == nullptr) return;
    if (error == 0) {
      NoteCmBelongings(call, HandleOf(std::get<0>(args)), BelongingsOf(std::get<0>(args)));
      return;
    }
    Arguments arguments;
    Arg<0>::Collect(args, &arguments);
    EndUse(call, arguments, error);
  }
};

// (id, …) makes the id's QP or SRQ. The verb inside has its own row; this one reports what the verb cannot have.
template <Kind kKind>
struct CmMakesOnId : CmEffect {
  static constexpr Kind kCreates = kKind;
  using State = CmCreate;
  template <class Args>
  static bool Before(Call& call, State& state, const Args& args) {
    state = BeginCmCreate();
    if (std::get<0>(args) == nullptr) return RefuseNull(call, Kind::kCmId);
    NoState none;
    return CmUsesId::Before(call, none, args);
  }
  template <class Args>
  static void After(Call& call, State& state, const Args& args, int result) {
    NoState none;
    CmUsesId::After(call, none, args, result);
    if (result != 0) EndFailedCmCreate(call, kKind, state, ErrorOf(result));
  }
};

// (id): ends the id's QP or SRQ, by the verb inside.
struct CmEndsOnId : CmUsesId {
  template <class Args>
  static bool Before(Call& call, State& state, const Args& args) {
    if (std::get<0>(args) == nullptr) return RefuseNull(call, Kind::kCmId);
    return CmUsesId::Before(call, state, args);
  }
};

// `kQpLeft`: the id's QP and SRQ are the program's to destroy; rdma_destroy_ep destroys them itself.
template <bool kQpLeft>
struct CmDestroysId : CmEffect {
  static constexpr bool kDestroys = true;
  using State = Destruction;
  template <class Args>
  static bool Before(Call& call, State& state, const Args& args) {
    if (!BeginDestroy(call, Kind::kCmId, HandleOf(std::get<0>(args)), &state)) return false;
    if (state.active) JudgeCmId(call, state.found.slot, kQpLeft);
    return true;
  }
  template <class Args, class R>
  static void After(Call& call, State& state, const Args&, R result) {
    const int error = ErrorOf(result);
    if (state.active && error == 0) ForgetCmId(call, state.found.slot);
    EndDestroy(call, Kind::kCmId, &state, error);
  }
};

struct CmDestroysChannel : CmEffect {
  static constexpr bool kDestroys = true;
  using State = Destruction;
  template <class Args>
  static bool Before(Call& call, State& state, const Args& args) {
    if (!BeginDestroy(call, Kind::kCmChannel, HandleOf(std::get<0>(args)), &state)) return false;
    if (state.active) JudgeCmChannel(call, state.found.slot);
    return true;
  }
  template <class Args>
  static void After(Call& call, State& state, const Args&, std::nullptr_t) {
    EndDestroy(call, Kind::kCmChannel, &state, 0);
  }
};

struct CmMigrates : CmEffect {  // (id, channel or NULL)
  struct State {
    Slot slot = 0;
  };
  template <class Args>
  static bool Before(Call& call, State&, const Args& args) {
    Arguments arguments;
    Arg<0>::Collect(args, &arguments);
    OptArg<1>::Collect(args, &arguments);
    BeginUse(call, arguments);
    Ledger& ledger = call.checker().ledger();
    const Found found = ledger.Pin(Kind::kCmId, HandleOf(std::get<0>(args)));
    if (found.slot != 0) {
      JudgeCmId(call, found.slot, false);
      ledger.Unpin(found.slot);
    }
    return true;
  }
  template <class Args>
  static void After(Call& call, State&, const Args& args, int result) {
    if (result != 0) return;
    NoteMoved(call, Kind::kCmId, HandleOf(std::get<0>(args)), Kind::kCmChannel, HandleOf(std::get<1>(args)));
  }
};

struct CmTakesEvent : CmEffect {  // (channel, event**)
  static constexpr bool kGetsEvent = true;
  template <class Args>
  static bool Before(Call& call, State&, const Args& args) {
    if (!BeginUseOfGet(call, ArgumentOf(std::get<0>(args), true))) return false;
    if (call.self() != nullptr) {
      BeginActivity(call.self(), Activity::kGetCmEvent, call.verb(), HandleOf(std::get<0>(args)),
                    static_cast<uint8_t>(Kind::kCmChannel), 0, call.StackId(), NanosOf(CLOCK_MONOTONIC_COARSE));
    }
    return true;
  }
  template <class Args>
  static void After(Call& call, State&, const Args& args, int result) {
    if (call.self() != nullptr) EndActivity(call.self());
    // It makes the id of a connection request; EAGAIN only says that nothing has come.
    const int error = ErrorOf(result);
    if (error != 0 && error != EAGAIN) EndFailedCmCreate(call, Kind::kCmId, BeginCmCreate(), error);
    if (result != 0 || std::get<1>(args) == nullptr || *std::get<1>(args) == nullptr) return;
    const rdma_cm_event* event = *std::get<1>(args);
    const bool request = event->event == RDMA_CM_EVENT_CONNECT_REQUEST;
    const rdma_cm_id* waits = request && event->listen_id != nullptr ? event->listen_id : event->id;
    if (request && event->id != nullptr) NoteCmId(call, HandleOf(event->id), HandleOf(std::get<0>(args)));
    NoteCmEvent(call, HandleOf(event), HandleOf(event->id), HandleOf(waits), HandleOf(std::get<0>(args)), event->event,
                event->status);
  }
};

struct CmAcksEvent : OfCm<Destroys<Kind::kCmEvent>> {};

struct CmGroupKey {  // (id, sockaddr* or attributes*)
  template <class T>
  static uintptr_t AddressOf(const T* address) {
    if constexpr (std::is_same_v<std::remove_const_t<T>, rdma_cm_join_mc_attr_ex>) {
      return address == nullptr ? 0 : AddressOf(address->addr);
    } else {
      if (address == nullptr) return 0;
      // By family and address, not by pointer: leave may be given a copy.
      const auto* bytes = reinterpret_cast<const unsigned char*>(address);
      const size_t size = address->sa_family == AF_INET ? 8 : address->sa_family == AF_INET6 ? 28 : 24;
      uintptr_t key = 1;
      for (size_t i = 0; i < size; ++i) key = (key ^ bytes[i]) * 0x100000001B3u;
      return key;
    }
  }
  template <class Args>
  static std::pair<uintptr_t, Numbers> Of(const Args& args) {
    return {(HandleOf(std::get<0>(args)) * 0x9E3779B97F4A7C15u ^ AddressOf(std::get<1>(args))) | 1, {}};
  }
};
using CmJoins = OfCm<CreatesKeyed<Kind::kMcast, Under<Arg<0>>, CmGroupKey>>;
using CmLeaves = OfCm<DestroysKeyed<Kind::kMcast, CmGroupKey>>;

struct CmGetsAddrinfo : CmEffect {  // (node, service, hints, rdma_addrinfo**)
  static constexpr Kind kCreates = Kind::kCmAddrinfo;
  using State = Pins;
  template <class Args>
  static bool Before(Call&, State&, const Args&) {
    return true;
  }
  template <class Args>
  static void After(Call& call, State& pins, const Args& args, int result) {
    // getaddrinfo's codes, or -1 and errno.
    const int error = result == EAI_MEMORY ? ENOMEM : result == EAI_SYSTEM || result == -1 ? errno : 0;
    if (result != 0 && error != 0) EndFailedCmCreate(call, Kind::kCmAddrinfo, BeginCmCreate(), error);
    if (result == 0 && std::get<3>(args) != nullptr && *std::get<3>(args) != nullptr) {
      EndCreate(call, Kind::kCmAddrinfo, HandleOf(*std::get<3>(args)), {}, Origin::kCreated, 0, &pins);
    }
  }
};

struct CmMakesSocket : CmEffect {  // returns the descriptor
  static constexpr Kind kCreates = Kind::kRsocket;
  using State = Pins;
  template <class Args>
  static bool Before(Call&, State&, const Args&) {
    return true;
  }
  template <class Args>
  static void After(Call& call, State& pins, const Args&, int fd) {
    if (fd < 0) {
      // An accept that would block is no shortage.
      if (errno != EAGAIN) EndFailedCmCreate(call, Kind::kRsocket, BeginCmCreate(), errno);
      return;
    }
    EndCreate(call, Kind::kRsocket, static_cast<uintptr_t>(fd) + 1, {static_cast<uint64_t>(fd), 0, 0}, Origin::kCreated,
              0, &pins);
  }
};

struct CmClosesSocket : CmEffect {
  static constexpr bool kDestroys = true;
  using State = Destruction;
  // A descriptor's number is given out again by others than us: only a socket that lives is looked at.
  template <class Args>
  static bool Before(Call& call, State& state, const Args& args) {
    const uintptr_t handle = static_cast<uintptr_t>(std::get<0>(args)) + 1;
    if (call.checker().ledger().Find(Kind::kRsocket, handle).standing != Standing::kLive) return true;
    return BeginDestroy(call, Kind::kRsocket, handle, &state);
  }
  template <class Args>
  static void After(Call& call, State& state, const Args&, int result) {
    if (state.active) EndDestroy(call, Kind::kRsocket, &state, ErrorOf(result));
  }
};

}  // namespace rdmacheck
