// Collectors for the verbs whose parents no row can spell: the escape hatch of verbs.def.
#pragma once

#include "interpose/effects/subject.h"

namespace rdmacheck {

// A QP needs the queues it was asked for; XRC and driver types have none, and a queue of no entries needs no CQ.
template <class Attr>
void CollectQueues(const Attr* attr, Arguments* out) {
  const bool plain = attr->qp_type == IBV_QPT_RC || attr->qp_type == IBV_QPT_UC || attr->qp_type == IBV_QPT_UD;
  const bool sends = plain && attr->cap.max_send_wr > 0;
  const bool receives = plain && attr->cap.max_recv_wr > 0 && attr->srq == nullptr;
  if (attr->send_cq != nullptr || sends) out->push_back(ArgumentOf(attr->send_cq, sends));
  if (attr->recv_cq != attr->send_cq && (attr->recv_cq != nullptr || receives)) {
    out->push_back(ArgumentOf(attr->recv_cq, receives));
  }
  if (attr->srq != nullptr) out->push_back(ArgumentOf(attr->srq, false));
}

struct QpParents {  // (pd, ibv_qp_init_attr*)
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    out->push_back(ArgumentOf(std::get<0>(args), true));
    if (std::get<1>(args) != nullptr) CollectQueues(std::get<1>(args), out);
  }
};

// ibv_create_qp_ex, and the direct verbs that take the same attributes after their context. The PD comes first: it is
// what the QP is made from; a QP without one (an XRC target) hangs on its XRC domain.
struct QpExParents {
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    const ibv_qp_init_attr_ex* attr = std::get<1>(args);
    if (attr == nullptr) {
      if (std::get<0>(args) == nullptr) out->push_back(ArgumentOf(std::get<0>(args), true));
      return;
    }
    if ((attr->comp_mask & IBV_QP_INIT_ATTR_PD) != 0) out->push_back(ArgumentOf(attr->pd, true));
    if ((attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) != 0 && attr->xrcd != nullptr) {
      out->push_back(ArgumentOf(attr->xrcd, false));
    }
    if (out->empty() || std::get<0>(args) == nullptr) out->push_back(ArgumentOf(std::get<0>(args), true));
    if ((attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE) != 0 && attr->rwq_ind_tbl != nullptr) {
      out->push_back(ArgumentOf(attr->rwq_ind_tbl, false));
    } else {
      CollectQueues(attr, out);
    }
  }
};

struct SrqExParents {  // (context, ibv_srq_init_attr_ex*)
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    const ibv_srq_init_attr_ex* attr = std::get<1>(args);
    if (attr == nullptr) return;
    if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) != 0) out->push_back(ArgumentOf(attr->pd, true));
    if (out->empty()) out->push_back(ArgumentOf(std::get<0>(args), true));
    if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) != 0 && attr->xrcd != nullptr) {
      out->push_back(ArgumentOf(attr->xrcd, false));
    }
    if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ) != 0 && attr->cq != nullptr) {
      out->push_back(ArgumentOf(attr->cq, false));
    }
  }
};

struct ParentDomainParents {  // (context, ibv_parent_domain_init_attr*): attr->pd cannot be NULL, attr->td may be
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    const ibv_parent_domain_init_attr* attr = std::get<1>(args);
    if (attr == nullptr) return;
    out->push_back(ArgumentOf(attr->pd, true));
    if (attr->td != nullptr) out->push_back(ArgumentOf(attr->td, false));
  }
};

struct RwqTableParents {  // (context, ibv_rwq_ind_table_init_attr*)
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    out->push_back(ArgumentOf(std::get<0>(args), true));
    const ibv_rwq_ind_table_init_attr* attr = std::get<1>(args);
    if (attr == nullptr || attr->ind_tbl == nullptr) return;
    // A few work queues fill a large table by turns: each is one parent, and one fault if it is dead.
    for (uint32_t i = 0; i < 1u << attr->log_ind_tbl_size; ++i) {
      const uintptr_t wq = HandleOf(attr->ind_tbl[i]);
      bool known = wq == 0;
      for (size_t k = 1; k < out->size() && !known; ++k) known = (*out)[k].handle == wq;
      if (!known) out->push_back(ArgumentOf(attr->ind_tbl[i], false));
    }
  }
};

// Actions and counters hide among a flow's specifications, which follow the attributes in memory.
struct FlowParents {  // (qp, ibv_flow_attr*)
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    out->push_back(ArgumentOf(std::get<0>(args), true));
    const ibv_flow_attr* attr = std::get<1>(args);
    if (attr == nullptr) return;
    const char* at = reinterpret_cast<const char*>(attr + 1);
    for (int i = 0; i < attr->num_of_specs; ++i) {
      const auto* spec = reinterpret_cast<const ibv_flow_spec*>(at);
      if (spec->hdr.size < sizeof(spec->hdr)) break;
      if (spec->hdr.type == IBV_FLOW_SPEC_ACTION_HANDLE && spec->handle.action != nullptr) {
        out->push_back(ArgumentOf(const_cast<ibv_flow_action*>(spec->handle.action), false));
      }
      if (spec->hdr.type == IBV_FLOW_SPEC_ACTION_COUNT && spec->flow_count.counters != nullptr) {
        out->push_back(ArgumentOf(spec->flow_count.counters, false));
      }
      at += spec->hdr.size;
    }
  }
};

struct MrExParents {  // (pd, ibv_mr_init_attr*)
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    out->push_back(ArgumentOf(std::get<0>(args), true));
    const auto* attr = reinterpret_cast<const abi::MrInitAttr*>(std::get<1>(args));
    if (attr == nullptr) return;
    if ((attr->comp_mask & abi::kMrMaskDmah) != 0 && attr->dmah != nullptr) {
      out->push_back(ArgumentOf(attr->dmah, false));
    }
    if ((attr->comp_mask & abi::kMrMaskBuf) != 0 && attr->buf != nullptr) out->push_back(ArgumentOf(attr->buf, false));
  }
};

// ---- direct verbs; the layouts are those of mlx5dv.h as far as they are read

struct MkeyParents {
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    struct Layout {
      ibv_pd* pd;
    };
    const auto* attr = reinterpret_cast<const Layout*>(std::get<0>(args));
    if (attr != nullptr) out->push_back(ArgumentOf(attr->pd, true));
  }
};

struct SchedParents {  // (context, mlx5dv_sched_attr*)
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    struct Layout {
      mlx5dv_sched_node* parent;
    };
    out->push_back(ArgumentOf(std::get<0>(args), true));
    const auto* attr = reinterpret_cast<const Layout*>(std::get<1>(args));
    if (attr != nullptr && attr->parent != nullptr) out->push_back(ArgumentOf(attr->parent, false));
  }
};

struct DekParents {  // (context, mlx5dv_dek_init_attr*)
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    struct Layout {
      int key_size;
      bool has_keytag;
      int key_purpose;
      ibv_pd* pd;
    };
    out->push_back(ArgumentOf(std::get<0>(args), true));
    const auto* attr = reinterpret_cast<const Layout*>(std::get<1>(args));
    if (attr != nullptr && attr->pd != nullptr) out->push_back(ArgumentOf(attr->pd, false));
  }
};

struct DvFlowParents {  // (matcher, value, count, mlx5dv_flow_action_attr[])
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    struct Layout {
      int type;
      void* object;
    };
    out->push_back(ArgumentOf(std::get<0>(args), true));
    const auto* actions = reinterpret_cast<const Layout*>(std::get<3>(args));
    for (size_t i = 0; actions != nullptr && i < std::get<2>(args); ++i) {
      void* const object = actions[i].object;
      switch (actions[i].type) {
        case 0: out->push_back(ArgumentOf(static_cast<ibv_qp*>(object), false)); break;
        case 2: out->push_back(ArgumentOf(static_cast<ibv_counters*>(object), false)); break;
        case 3: out->push_back(ArgumentOf(static_cast<ibv_flow_action*>(object), false)); break;
        case 5: case 6: out->push_back(ArgumentOf(static_cast<mlx5dv_devx_obj*>(object), false)); break;
        default: break;  // drop, tag, default miss: no object
      }
    }
  }
};

struct DrRuleParents {  // (matcher, value, count, mlx5dv_dr_action*[])
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    out->push_back(ArgumentOf(std::get<0>(args), true));
    mlx5dv_dr_action* const* actions = std::get<3>(args);
    for (size_t i = 0; actions != nullptr && i < std::get<2>(args); ++i) {
      if (actions[i] != nullptr) out->push_back(ArgumentOf(actions[i], false));
    }
  }
};

struct DrDestArrayParents {  // (domain, count, mlx5dv_dr_action_dest_attr*[])
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    struct Reformat {
      mlx5dv_dr_action* reformat;
      mlx5dv_dr_action* dest;
    };
    struct Layout {
      int type;
      void* dest;
    };
    out->push_back(ArgumentOf(std::get<0>(args), true));
    auto* const* dests = reinterpret_cast<Layout* const*>(std::get<2>(args));
    for (size_t i = 0; dests != nullptr && i < std::get<1>(args); ++i) {
      if (dests[i] == nullptr || dests[i]->dest == nullptr) continue;
      if (dests[i]->type == 0) {
        out->push_back(ArgumentOf(static_cast<mlx5dv_dr_action*>(dests[i]->dest), false));
      } else {
        const auto* both = static_cast<const Reformat*>(dests[i]->dest);
        if (both->reformat != nullptr) out->push_back(ArgumentOf(both->reformat, false));
        if (both->dest != nullptr) out->push_back(ArgumentOf(both->dest, false));
      }
    }
  }
};

struct DrMeterParents {
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    struct Layout {
      mlx5dv_dr_table* next_table;
    };
    const auto* attr = reinterpret_cast<const Layout*>(std::get<0>(args));
    if (attr != nullptr && attr->next_table != nullptr) out->push_back(ArgumentOf(attr->next_table, false));
  }
};

struct DrSamplerParents {
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    struct Layout {
      uint32_t sample_ratio;
      mlx5dv_dr_table* default_next_table;
      uint32_t num_sample_actions;
      mlx5dv_dr_action** sample_actions;
    };
    const auto* attr = reinterpret_cast<const Layout*>(std::get<0>(args));
    if (attr == nullptr) return;
    if (attr->default_next_table != nullptr) out->push_back(ArgumentOf(attr->default_next_table, false));
    for (uint32_t i = 0; attr->sample_actions != nullptr && i < attr->num_sample_actions; ++i) {
      if (attr->sample_actions[i] != nullptr) out->push_back(ArgumentOf(attr->sample_actions[i], false));
    }
  }
};

}  // namespace rdmacheck
