// Where an object stands among a verb's arguments. A row says Arg<0>, Field<1, &ibv_qp_init_attr::send_cq> …; the kind
// follows from the C type, so a row cannot name the wrong one.
#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>

#include "interpose/judge/call.h"
#include "interpose/verbs/direct_verbs_abi.h"
#include "interpose/verbs/verbs_abi.h"

namespace rdmacheck {

// The kind of object a C type is.
template <class T>
struct KindOf;
#define RDMACHECK_KIND_OF(type, kind) \
  template <>                         \
  struct KindOf<type> {               \
    static constexpr Kind value = Kind::kind; \
  }
RDMACHECK_KIND_OF(ibv_context, kContext);
RDMACHECK_KIND_OF(ibv_pd, kPd);
RDMACHECK_KIND_OF(ibv_td, kTd);
RDMACHECK_KIND_OF(ibv_comp_channel, kCompChannel);
RDMACHECK_KIND_OF(ibv_cq, kCq);
RDMACHECK_KIND_OF(ibv_cq_ex, kCq);
RDMACHECK_KIND_OF(ibv_mr, kMr);
RDMACHECK_KIND_OF(ibv_mw, kMw);
RDMACHECK_KIND_OF(ibv_dm, kDm);
RDMACHECK_KIND_OF(ibv_dmah, kDmah);
RDMACHECK_KIND_OF(ibv_buf, kBuf);
RDMACHECK_KIND_OF(ibv_qp, kQp);
RDMACHECK_KIND_OF(ibv_srq, kSrq);
RDMACHECK_KIND_OF(ibv_xrcd, kXrcd);
RDMACHECK_KIND_OF(ibv_wq, kWq);
RDMACHECK_KIND_OF(ibv_rwq_ind_table, kRwqIndTable);
RDMACHECK_KIND_OF(ibv_ah, kAh);
RDMACHECK_KIND_OF(ibv_flow, kFlow);
RDMACHECK_KIND_OF(ibv_flow_action, kFlowAction);
RDMACHECK_KIND_OF(ibv_counters, kCounters);
RDMACHECK_KIND_OF(ibv_comp_cntr, kCompCntr);
RDMACHECK_KIND_OF(mlx5dv_flow_matcher, kFlowMatcher);
RDMACHECK_KIND_OF(mlx5dv_mkey, kMkey);
RDMACHECK_KIND_OF(mlx5dv_steering_anchor, kSteeringAnchor);
RDMACHECK_KIND_OF(mlx5dv_devx_obj, kDevxObj);
RDMACHECK_KIND_OF(mlx5dv_devx_umem, kDevxUmem);
RDMACHECK_KIND_OF(mlx5dv_devx_uar, kDevxUar);
RDMACHECK_KIND_OF(mlx5dv_var, kVar);
RDMACHECK_KIND_OF(mlx5dv_pp, kPp);
RDMACHECK_KIND_OF(mlx5dv_devx_cmd_comp, kDevxCmdComp);
RDMACHECK_KIND_OF(mlx5dv_devx_event_channel, kDevxEventChannel);
RDMACHECK_KIND_OF(mlx5dv_devx_msi_vector, kMsiVector);
RDMACHECK_KIND_OF(mlx5dv_devx_eq, kDevxEq);
RDMACHECK_KIND_OF(mlx5dv_sched_node, kSchedNode);
RDMACHECK_KIND_OF(mlx5dv_sched_leaf, kSchedLeaf);
RDMACHECK_KIND_OF(mlx5dv_dek, kDek);
RDMACHECK_KIND_OF(mlx5dv_crypto_login_obj, kCryptoLoginObj);
RDMACHECK_KIND_OF(mlx5dv_dr_domain, kDrDomain);
RDMACHECK_KIND_OF(mlx5dv_dr_table, kDrTable);
RDMACHECK_KIND_OF(mlx5dv_dr_matcher, kDrMatcher);
RDMACHECK_KIND_OF(mlx5dv_dr_rule, kDrRule);
RDMACHECK_KIND_OF(mlx5dv_dr_action, kDrAction);
#undef RDMACHECK_KIND_OF

// Objects that carry their context publicly; the others' context is found through the ledger.
template <class T, class = void>
struct HasContext : std::false_type {};
template <class T>
struct HasContext<T, std::void_t<decltype(std::declval<T&>().context)>> : std::true_type {};

inline uintptr_t HandleOf(const void* object) { return reinterpret_cast<uintptr_t>(object); }

template <class T>
Argument ArgumentOf(T* object, bool required) {
  Argument argument;
  argument.kind = KindOf<std::remove_const_t<T>>::value;
  argument.handle = HandleOf(object);
  argument.required = required;
  return argument;
}

// Every subject has: template <class Args> static void Collect(const Args& args, Arguments* out).

template <size_t I>
struct Arg {
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    out->push_back(ArgumentOf(std::get<I>(args), true));
  }
};

// May be NULL.
template <size_t I>
struct OptArg {
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    if (std::get<I>(args) != nullptr) out->push_back(ArgumentOf(std::get<I>(args), false));
  }
};

// A field of the struct that argument I points to; NULL is no fault unless a collector of parents.h says so.
template <size_t I, auto Member>
struct Field {
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    const auto* attr = std::get<I>(args);
    if (attr == nullptr) return;
    auto* object = attr->*Member;
    if (object != nullptr) out->push_back(ArgumentOf(object, false));
  }
};

// A field that must not be NULL where there is a struct.
template <size_t I, auto Member>
struct NeedField {
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    const auto* attr = std::get<I>(args);
    if (attr != nullptr) out->push_back(ArgumentOf(attr->*Member, true));
  }
};

// A field that is valid only when a bit of another field says so.
template <size_t I, auto Member, auto Mask, uint64_t Bit>
struct FieldIf {
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    const auto* attr = std::get<I>(args);
    if (attr != nullptr && (attr->*Mask & Bit) != 0) Field<I, Member>::Collect(args, out);
  }
};

// What a new object is made from, in the order in which a reader would name it: the first leads to the context.
template <class... Subjects>
struct Under {
  template <class Args>
  static void Collect([[maybe_unused]] const Args& args, [[maybe_unused]] Arguments* out) {
    (Subjects::Collect(args, out), ...);
  }
};

}  // namespace rdmacheck
