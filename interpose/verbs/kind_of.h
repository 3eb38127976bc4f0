// The kind of object that a C type of the libraries is.
#pragma once

#include <cstdint>

#include "interpose/ledger/kind.h"
#include "interpose/verbs/direct_verbs_abi.h"
#include "interpose/verbs/verbs_abi.h"

namespace rdmacheck {

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

inline uintptr_t HandleOf(const void* object) { return reinterpret_cast<uintptr_t>(object); }

}  // namespace rdmacheck
