// The words a row of verbs.def is written with: what a verb does to the ledger. Each is a pair of functions round the
// real call; the thinking is in judge/, here stands only which argument is what.
//
//   bool Before(Call&, State&, const Args&)        false: do not forward
//   void After(Call&, State&, const Args&, R)      R is std::nullptr_t for a void verb
#pragma once

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "interpose/checker/checker.h"
#include "interpose/judge/judge.h"
#include "interpose/effects/subject.h"
#include "interpose/effects/parents.h"
#include "interpose/verbs/numbers.h"

namespace rdmacheck {

// An int verb returns 0 or an errno value; a few older ones -1 and errno, or a negative errno.
inline int ErrorOf(int result) { return result == 0 ? 0 : (result == -1 ? errno : (result < 0 ? -result : result)); }
inline int ErrorOf(std::nullptr_t) { return 0; }

// A pointer verb that fails without errno (the promise is young) still failed.
inline int ErrorOfNull() { return errno != 0 ? errno : EINVAL; }

struct NoState {};

// A context's inline verbs are watched from its open to its close; hooks/ sees to that at the rows that say so.
enum class ContextStep : uint8_t { kNone, kOpens, kCloses };

// What an effect is unless it says otherwise.
struct EffectDefaults {
  static constexpr bool kCm = false;         // a call of librdmacm
  static constexpr bool kMinusOne = false;   // an int call fails with -1 and errno
  static constexpr bool kGetsEvent = false;  // it may wait; one that is not forwarded fails as on a closed descriptor
  static constexpr Kind kCreates = Kind::kNone;
  static constexpr bool kDestroys = false;
  static constexpr ContextStep kContextStep = ContextStep::kNone;
  using State = NoState;
};

// A row that is in the table so that the handles it is given are looked at.
template <class... Subjects>
struct Uses : EffectDefaults {
  template <class Args>
  static bool Before(Call& call, State&, const Args& args) {
    Arguments arguments;
    (Subjects::Collect(args, &arguments), ...);
    return BeginUse(call, arguments);
  }
  template <class Args, class R>
  static void After(Call& call, State&, const Args& args, R result) {
    const int error = ErrorOf(result);
    if (error == 0) return;
    Arguments arguments;
    (Subjects::Collect(args, &arguments), ...);
    EndUse(call, arguments, error);
  }
};

template <Kind kKind, class Parents, Origin kOrigin = Origin::kCreated>
struct Creates : EffectDefaults {
  static constexpr Kind kCreates = kKind;
  struct State {
    Pins pins;
  };
  template <class Args>
  static bool Before(Call& call, State& state, const Args& args) {
    Arguments arguments;
    Parents::Collect(args, &arguments);
    return BeginCreate(call, arguments, &state.pins);
  }
  template <class Args, class T>
  static void After(Call& call, State& state, const Args&, T* object) {
    static_assert(!std::is_void_v<T>, "a creating verb returns a typed handle");
    static_assert(FamilyOf(KindOf<T>::value) == FamilyOf(kKind), "the row's kind is not that of the type in kind_of.h");
    static_assert(HasNumberNames(kKind) != std::is_same_v<decltype(NumbersOf(object)), NoNumbers>,
                  "a kind has both NumbersOf() in verbs/numbers.h and rows in ledger/number_names.h, or neither");
    if (object == nullptr) {
      EndCreate(call, kKind, 0, {}, kOrigin, ErrorOfNull(), &state.pins);
    } else {
      EndCreate(call, kKind, HandleOf(object), NumbersOf(object), kOrigin, 0, &state.pins);
    }
  }
};

// The verb returns an int, and the object is named by the arguments: Key::Of(args) -> (handle, numbers).
template <Kind kKind, class Parents, class Key>
struct CreatesKeyed : Creates<kKind, Parents> {
  using State = typename Creates<kKind, Parents>::State;
  template <class Args>
  static void After(Call& call, State& state, const Args& args, int result) {
    const int error = ErrorOf(result);
    const auto [handle, numbers] = error == 0 ? Key::Of(args) : std::pair<uintptr_t, Numbers>();
    EndCreate(call, kKind, handle, numbers, Origin::kCreated, error, &state.pins);
  }
};

// The verb returns a descriptor. It goes by close(2), which we do not watch: whether it is still open is asked of the
// kernel when it matters, by the file's device and inode.
template <class Parents>
struct CreatesFd : Creates<Kind::kDmabufFd, Parents> {
  static constexpr bool kMinusOne = true;
  using State = typename Creates<Kind::kDmabufFd, Parents>::State;
  template <class Args>
  static void After(Call& call, State& state, const Args&, int fd) {
    Numbers numbers;
    struct stat file;
    if (fd >= 0 && fstat(fd, &file) == 0) {
      numbers = {static_cast<uint32_t>(fd), file.st_dev, file.st_ino};
    }
    EndCreate(call, Kind::kDmabufFd, fd >= 0 ? static_cast<uintptr_t>(fd) + 1 : 0, numbers, Origin::kCreated,
              fd >= 0 ? 0 : ErrorOfNull(), &state.pins);
  }
};

// ibv_alloc_buf returns the address; the handle is its third argument.
struct CreatesBuf : Creates<Kind::kBuf, Under<Arg<0>>> {
  template <class Args>
  static void After(Call& call, State& state, const Args& args, void* address) {
    const bool made = address != nullptr && std::get<2>(args) != nullptr;
    EndCreate(call, Kind::kBuf, made ? HandleOf(*std::get<2>(args)) : 0,
              made ? Numbers{HandleOf(address), std::get<1>(args), 0} : Numbers{}, Origin::kCreated,
              made ? 0 : ErrorOfNull(), &state.pins);
  }
};

struct FirstArgument {
  template <class Args>
  static std::pair<uintptr_t, Numbers> Of(const Args& args) {
    return {HandleOf(std::get<0>(args)), {}};
  }
};

template <Kind kKind, class Key>
struct DestroysKeyed : EffectDefaults {
  static constexpr bool kDestroys = true;
  using State = Destruction;
  template <class Args>
  static bool Before(Call& call, State& state, const Args& args) {
    // The key of an object without a handle is never 0, whatever it is made of.
    using First = std::tuple_element_t<0, Args>;
    if constexpr (std::is_pointer_v<First> && !std::is_same_v<Key, FirstArgument>) {
      if (std::get<0>(args) == nullptr) return RefuseNull(call, ArgumentOf(std::get<0>(args), true).kind);
    }
    return BeginDestroy(call, kKind, Key::Of(args).first, &state);
  }
  template <class Args, class R>
  static void After(Call& call, State& state, const Args&, R result) {
    EndDestroy(call, kKind, &state, ErrorOf(result));
  }
};

template <Kind kKind>
using Destroys = DestroysKeyed<kKind, FirstArgument>;

// ---- keys of objects without a handle

struct McastKey {  // (qp, gid*, lid)
  template <class Args>
  static std::pair<uintptr_t, Numbers> Of(const Args& args) {
    Numbers numbers;
    numbers.a = std::get<2>(args);
    if (std::get<1>(args) != nullptr) {
      numbers.b = std::get<1>(args)->global.subnet_prefix;
      numbers.c = std::get<1>(args)->global.interface_id;
    }
    uintptr_t key = HandleOf(std::get<0>(args));
    for (uint64_t part : {numbers.a, numbers.b, numbers.c}) key = (key ^ part) * 0x9E3779B97F4A7C15u;
    return {key | 1, numbers};
  }
};
// Attached twice to one group is one attachment (ibv_attach_mcast(3)); Create replaces the entry of the same key.

// An attachment goes with its QP, so after that the group is not known: it is the QP that must not be used.
struct DetachesMcast : DestroysKeyed<Kind::kMcast, McastKey> {
  template <class Args>
  static bool Before(Call& call, State& state, const Args& args) {
    if (!DestroysKeyed<Kind::kMcast, McastKey>::Before(call, state, args)) return false;
    if (!state.active) {
      Arguments arguments;
      Arg<0>::Collect(args, &arguments);
      BeginUse(call, arguments);
    }
    return true;
  }
};

struct ReservedQpnKey {  // (context, qpn*) or (context, qpn)
  static uint32_t Qpn(uint32_t qpn) { return qpn; }
  static uint32_t Qpn(const uint32_t* qpn) { return qpn == nullptr ? 0 : *qpn; }
  template <class Args>
  static std::pair<uintptr_t, Numbers> Of(const Args& args) {
    const uint32_t qpn = Qpn(std::get<1>(args));
    return {HandleOf(std::get<0>(args)) * 0x9E3779B97F4A7C15u + qpn + 1, {qpn, 0, 0}};
  }
};

// ---- device list and context

struct Lists : EffectDefaults {
  static constexpr Kind kCreates = Kind::kDeviceList;
  using State = Pins;
  template <class Args>
  static bool Before(Call& call, State& state, const Args&) {
    return BeginCreate(call, {}, &state);
  }
  template <class Args>
  static void After(Call& call, State& state, const Args&, ibv_device** list) {
    NoteFirstDeviceList(call);
    if (list == nullptr) {
      EndCreate(call, Kind::kDeviceList, 0, {}, Origin::kCreated, ErrorOfNull(), &state);
      return;
    }
    uint64_t count = 0;
    while (list[count] != nullptr) ++count;
    EndCreate(call, Kind::kDeviceList, HandleOf(list), {count, 0, 0}, Origin::kCreated, 0, &state);
  }
};

inline uint64_t InternDeviceName(Checker& checker, const ibv_context* context) {
  const char* name = context->device == nullptr ? "" : context->device->name;
  return checker.InternName(std::string(name, strnlen(name, IBV_SYSFS_NAME_MAX)));
}

template <Origin kOrigin>
struct OpensAs : EffectDefaults {
  static constexpr ContextStep kContextStep = ContextStep::kOpens;
  static constexpr Kind kCreates = Kind::kContext;
  using State = Pins;
  template <class Args>
  static bool Before(Call& call, State& state, const Args& args) {
    // A device is no object of the ledger; ibv_import_device takes a descriptor.
    using First = std::tuple_element_t<0, Args>;
    if constexpr (std::is_pointer_v<First>) {
      if (std::get<0>(args) == nullptr) return RefuseNull(call, "device");
    }
    return BeginCreate(call, {}, &state);
  }
  template <class Args>
  static void After(Call& call, State& state, const Args&, ibv_context* context) {
    if (context == nullptr) {
      EndCreate(call, Kind::kContext, 0, {}, kOrigin, ErrorOfNull(), &state);
      return;
    }
    const Numbers numbers{
        Pack(static_cast<uint32_t>(context->cmd_fd), static_cast<uint32_t>(context->async_fd)), 0,
        InternDeviceName(call.checker(), context)};
    EndCreate(call, Kind::kContext, HandleOf(context), numbers, kOrigin, 0, &state);
  }
};
using Opens = OpensAs<Origin::kCreated>;
using Imports = OpensAs<Origin::kImported>;

struct Closes : EffectDefaults {
  static constexpr ContextStep kContextStep = ContextStep::kCloses;
  static constexpr bool kDestroys = true;
  using State = Destruction;
  template <class Args>
  static bool Before(Call& call, State& state, const Args& args) {
    return BeginClose(call, HandleOf(std::get<0>(args)), &state);
  }
  template <class Args>
  static void After(Call& call, State& state, const Args&, int result) {
    EndClose(call, &state, ErrorOf(result));
  }
};

// ---- events

struct TakesEvent : EffectDefaults {
  static constexpr bool kMinusOne = true;
  static constexpr bool kGetsEvent = true;
};

struct TakesCqEvent : TakesEvent {  // (channel, cq**, cq_context**)
  template <class Args>
  static bool Before(Call& call, State&, const Args& args) {
    return BeginGetCqEvent(call, HandleOf(std::get<0>(args)));
  }
  template <class Args>
  static void After(Call& call, State&, const Args& args, int result) {
    const int error = ErrorOf(result);
    ibv_cq** cq = std::get<1>(args);
    EndGetCqEvent(call, HandleOf(std::get<0>(args)), error == 0 && cq != nullptr ? HandleOf(*cq) : 0, error);
  }
};

struct AcksCqEvents : EffectDefaults {  // (cq, count)
  template <class Args>
  static bool Before(Call& call, State&, const Args& args) {
    return BeginAckCqEvents(call, HandleOf(std::get<0>(args)), std::get<1>(args));
  }
  template <class Args>
  static void After(Call&, State&, const Args&, std::nullptr_t) {}
};

// The object an asynchronous event is about; kNone for those of the port or the device.
inline Argument ElementOf(const ibv_async_event* event) {
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
      return ArgumentOf(event->element.cq, false);
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return ArgumentOf(event->element.qp, false);
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return ArgumentOf(event->element.srq, false);
    case IBV_EVENT_WQ_FATAL:
      return ArgumentOf(event->element.wq, false);
    default:
      return {};
  }
}

struct TakesAsyncEvent : TakesEvent {  // (context, event*)
  template <class Args>
  static bool Before(Call& call, State&, const Args& args) {
    return BeginGetAsyncEvent(call, HandleOf(std::get<0>(args)));
  }
  template <class Args>
  static void After(Call& call, State&, const Args& args, int result) {
    const int error = ErrorOf(result);
    const ibv_async_event* event = std::get<1>(args);
    const bool got = error == 0 && event != nullptr;
    const Argument element = got ? ElementOf(event) : Argument();
    EndGetAsyncEvent(call, HandleOf(std::get<0>(args)), element.kind, element.handle,
                     got && event->event_type == IBV_EVENT_DEVICE_FATAL,
                     got && event->event_type == IBV_EVENT_QP_FATAL, error);
  }
};

struct AcksAsyncEvent : EffectDefaults {  // (event*)
  template <class Args>
  static bool Before(Call& call, State&, const Args& args) {
    if (std::get<0>(args) == nullptr) {
      SayNullUse(call, "async_event");
      return true;
    }
    const Argument element = ElementOf(std::get<0>(args));
    return element.kind == Kind::kNone || BeginAckAsyncEvent(call, element.kind, element.handle);
  }
  template <class Args>
  static void After(Call&, State&, const Args&, std::nullptr_t) {}
};

// ---- the irregular ones

struct InitsFork : Uses<> {
  template <class Args>
  static void After(Call& call, State&, const Args&, int result) {
    JudgeForkInitLate(call, ErrorOf(result));
  }
};

struct ModifiesQp : Uses<Arg<0>> {  // (qp, attr*, mask)
  template <class Args>
  static void After(Call& call, State& state, const Args& args, int result) {
    Uses<Arg<0>>::After(call, state, args, result);
    if (result == 0 && std::get<1>(args) != nullptr && (std::get<2>(args) & IBV_QP_STATE) != 0) {
      NoteQpState(call, HandleOf(std::get<0>(args)), std::get<1>(args)->qp_state);
    }
  }
};

// ibv_rereg_mr may move the MR to another PD and give it other keys. After an error of the command the MR is not to be
// used but still has to be deregistered: it stays as it was in the ledger.
struct Reregs : Uses<Arg<0>> {  // (mr, flags, pd, addr, length, access)
  template <class Args>
  static bool Before(Call& call, State&, const Args& args) {
    Arguments arguments;
    Arg<0>::Collect(args, &arguments);
    if ((std::get<1>(args) & IBV_REREG_MR_CHANGE_PD) != 0) Arg<2>::Collect(args, &arguments);
    return BeginUse(call, arguments);
  }
  template <class Args>
  static void After(Call& call, State& state, const Args& args, int result) {
    // Its errors are IBV_REREG_MR_ERR_*; errno has the reason.
    if (result != 0) {
      Uses<Arg<0>>::After(call, state, args, errno != 0 ? errno : EINVAL);
      return;
    }
    const bool moved = (std::get<1>(args) & IBV_REREG_MR_CHANGE_PD) != 0;
    NoteRereg(call, HandleOf(std::get<0>(args)), moved ? HandleOf(std::get<2>(args)) : 0, NumbersOf(std::get<0>(args)));
  }
};

struct BindsMw : Uses<Arg<0>, Arg<1>> {  // (qp, mw, ibv_mw_bind*)
  template <class Args>
  static bool Before(Call& call, State&, const Args& args) {
    Arguments arguments;
    Arg<0>::Collect(args, &arguments);
    Arg<1>::Collect(args, &arguments);
    if (std::get<2>(args) != nullptr && std::get<2>(args)->bind_info.mr != nullptr) {
      arguments.push_back(ArgumentOf(std::get<2>(args)->bind_info.mr, false));
    }
    return BeginUse(call, arguments);
  }
  // The binding is posted: it is done when its completion says so, and an invalidation by a work request goes past us.
  // So it explains a refused dereg, and is not reported.
  template <class Args>
  static void After(Call& call, State& state, const Args& args, int result) {
    Uses<Arg<0>, Arg<1>>::After(call, state, args, result);
    const ibv_mw_bind* bind = std::get<2>(args);
    if (result != 0 || bind == nullptr) return;
    NoteMoved(call, Kind::kMw, HandleOf(std::get<1>(args)), Kind::kMr,
              bind->bind_info.length == 0 ? 0 : HandleOf(bind->bind_info.mr));
  }
};

// There is no detach: the counter is let go by the QP's destroy, so the QP hangs on it.
struct AttachesCompCntr : Uses<Arg<0>, Arg<1>> {  // (qp, comp_cntr, attr*)
  template <class Args>
  static void After(Call& call, State& state, const Args& args, int result) {
    Uses<Arg<0>, Arg<1>>::After(call, state, args, result);
    if (result == 0) {
      NoteLink(call, Kind::kQp, HandleOf(std::get<0>(args)), Kind::kCompCntr, HandleOf(std::get<1>(args)));
    }
  }
};

struct AttachesCounters : Uses<Arg<0>, OptArg<2>> {  // (counters, attr*, flow or NULL: static)
  template <class Args>
  static void After(Call& call, State& state, const Args& args, int result) {
    Uses<Arg<0>, OptArg<2>>::After(call, state, args, result);
    if (result == 0 && std::get<2>(args) != nullptr) {
      NoteLink(call, Kind::kFlow, HandleOf(std::get<2>(args)), Kind::kCounters, HandleOf(std::get<0>(args)));
    }
  }
};

}  // namespace rdmacheck
