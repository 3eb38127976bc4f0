// Every kind of object the checker knows, with the name that reports use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rdmacheck {

// One row a kind: enumerator, name in reports. A direct-verbs kind takes the verb's own noun.
#define RDMACHECK_KINDS(X)                     \
  X(kNone, "")                                 \
  X(kDeviceList, "device_list")                \
  X(kContext, "context")                       \
  X(kPd, "pd")                                 \
  X(kParentDomain, "parent_domain")            \
  X(kTd, "td")                                 \
  X(kCompChannel, "comp_channel")              \
  X(kCq, "cq")                                 \
  X(kMr, "mr")                                 \
  X(kMw, "mw")                                 \
  X(kDm, "dm")                                 \
  X(kDmah, "dmah")                             \
  X(kBuf, "buf")                               \
  X(kDmabufFd, "dmabuf_fd")                    \
  X(kQp, "qp")                                 \
  X(kSrq, "srq")                               \
  X(kXrcd, "xrcd")                             \
  X(kWq, "wq")                                 \
  X(kRwqIndTable, "rwq_ind_table")             \
  X(kAh, "ah")                                 \
  X(kMcast, "mcast")                           \
  X(kFlow, "flow")                             \
  X(kFlowAction, "flow_action")                \
  X(kCounters, "counters")                     \
  X(kCompCntr, "comp_cntr")                    \
  X(kFlowMatcher, "flow_matcher")              \
  X(kMkey, "mkey")                             \
  X(kSteeringAnchor, "steering_anchor")        \
  X(kDevxObj, "devx_obj")                      \
  X(kDevxUmem, "devx_umem")                    \
  X(kDevxUar, "devx_uar")                      \
  X(kVar, "var")                               \
  X(kPp, "pp")                                 \
  X(kDevxCmdComp, "devx_cmd_comp")             \
  X(kDevxEventChannel, "devx_event_channel")   \
  X(kMsiVector, "msi_vector")                  \
  X(kDevxEq, "devx_eq")                        \
  X(kSchedNode, "sched_node")                  \
  X(kSchedLeaf, "sched_leaf")                  \
  X(kReservedQpn, "reserved_qpn")              \
  X(kDek, "dek")                               \
  X(kCryptoLogin, "crypto_login")              \
  X(kCryptoLoginObj, "crypto_login_obj")       \
  X(kDrDomain, "dr_domain")                    \
  X(kDrTable, "dr_table")                      \
  X(kDrMatcher, "dr_matcher")                  \
  X(kDrRule, "dr_rule")                        \
  X(kDrAction, "dr_action")                    \
  X(kCmChannel, "cm_channel")                  \
  X(kCmId, "cm_id")                            \
  X(kCmEvent, "cm_event")                      \
  X(kCmDeviceList, "cm_device_list")           \
  X(kCmAddrinfo, "cm_addrinfo")                \
  X(kRsocket, "rsocket")

enum class Kind : uint8_t {
#define X(enumerator, name) enumerator,
  RDMACHECK_KINDS(X)
#undef X
};

inline constexpr const char* kKindNames[] = {
#define X(enumerator, name) name,
    RDMACHECK_KINDS(X)
#undef X
};
inline constexpr size_t kKindCount = sizeof(kKindNames) / sizeof(kKindNames[0]);
static_assert(kKindNames[static_cast<size_t>(Kind::kRsocket)] != nullptr && kKindCount < 64, "every kind has a name");

constexpr const char* NameOf(Kind kind) { return kKindNames[static_cast<size_t>(kind)]; }

// Objects of one family share a release verb, so one address names at most one of them at a time:
// a parent domain is an ibv_pd and goes by ibv_dealloc_pd.
constexpr Kind FamilyOf(Kind kind) { return kind == Kind::kParentDomain ? Kind::kPd : kind; }

// Objects of the device, which asynchronous events and their readers may point to. A list of devices, and what rdma_cm
// makes, are not.
constexpr bool IsVerbsObject(Kind kind) {
  return kind != Kind::kDeviceList && kind != Kind::kCmChannel && kind != Kind::kCmId && kind != Kind::kCmEvent &&
         kind != Kind::kCmDeviceList && kind != Kind::kCmAddrinfo && kind != Kind::kRsocket;
}

}  // namespace rdmacheck
