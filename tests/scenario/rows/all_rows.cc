// Leak and passing variant of every row of verbs.def and direct_verbs.def that makes something, on the fake libibverbs.
//
//   all_rows list         each such row: its name, the kind it makes, the verb that releases it
//   all_rows leak VERB    makes one, and all it needs, and closes the context
//   all_rows clean VERB   releases everything again
//
// Which rows there are comes from the tables themselves: one without a recipe here, and a releasing row that no recipe
// uses, are reported with status 99. run_all_rows.py judges the reports.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "interpose/ledger/kind.h"
#include "env.h"

namespace {

char buffer[8192];

struct Recipe {
  std::string release;
  void (*make)(Env&);
};
std::map<std::string, Recipe> recipes;

struct Register {
  Register(const char* verb, const char* release, void (*make)(Env&)) { recipes[verb] = {release, make}; }
};

#define RECIPE(verb, release)                                   \
  __attribute__((noinline)) void make_##verb(Env& e);           \
  const Register register_##verb(#verb, #release, &make_##verb); \
  void make_##verb(Env& e)

// An int verb releases it, and the expression makes it.
#define PAIR(verb, release, ...)                                  \
  RECIPE(verb, release) {                                         \
    auto* object = e.Made(verb(__VA_ARGS__));                     \
    e.Release([object] { return release(object); });              \
  }
// A void verb releases it.
#define PAIR_VOID(verb, release, ...)                             \
  RECIPE(verb, release) {                                         \
    auto* object = e.Made(verb(__VA_ARGS__));                     \
    e.ReleaseVoid([object] { release(object); });                 \
  }

// ---- verbs.def

PAIR_VOID(ibv_get_device_list, ibv_free_device_list, nullptr)
PAIR(ibv_open_device, ibv_close_device, e.Device())
RECIPE(ibv_import_device, ibv_close_device) {
  e.Device();
  ibv_context* context = e.Made(ibv_import_device(open("/dev/null", O_RDWR)));
  e.Release([context] { return ibv_close_device(context); });
}
PAIR(ibv_alloc_pd, ibv_dealloc_pd, e.Context())
PAIR_VOID(ibv_import_pd, ibv_unimport_pd, e.Context(), e.Pd()->handle)
RECIPE(ibv_alloc_td, ibv_dealloc_td) {
  ibv_td_init_attr attr = {};
  ibv_td* td = e.Made(ibv_alloc_td(e.Context(), &attr));
  e.Release([td] { return ibv_dealloc_td(td); });
}
RECIPE(ibv_alloc_parent_domain, ibv_dealloc_pd) {
  ibv_parent_domain_init_attr attr = {};
  attr.pd = e.Pd();
  ibv_pd* domain = e.Made(ibv_alloc_parent_domain(e.Context(), &attr));
  e.Release([domain] { return ibv_dealloc_pd(domain); });
}
PAIR(ibv_create_comp_channel, ibv_destroy_comp_channel, e.Context())
PAIR(ibv_create_cq, ibv_destroy_cq, e.Context(), 4, nullptr, nullptr, 0)
RECIPE(ibv_create_cq_ex, ibv_destroy_cq) {
  ibv_cq_init_attr_ex attr = e.CqAttrEx();
  ibv_cq* cq = ibv_cq_ex_to_cq(e.Made(ibv_create_cq_ex(e.Context(), &attr)));
  e.Release([cq] { return ibv_destroy_cq(cq); });
}
PAIR(ibv_reg_mr, ibv_dereg_mr, e.Pd(), buffer, 64, 0)
PAIR(ibv_reg_mr_iova, ibv_dereg_mr, e.Pd(), buffer, 64, 0x1000, 0)
PAIR(ibv_reg_mr_iova2, ibv_dereg_mr, e.Pd(), buffer, 64, 0x1000, 0)
PAIR(ibv_reg_dmabuf_mr, ibv_dereg_mr, e.Pd(), 0, 64, 0, 0, 0)
RECIPE(ibv_reg_mr_ex, ibv_dereg_mr) {
  ibv_mr_init_attr attr = {};
  attr.length = 64;
  attr.comp_mask = IBV_REG_MR_MASK_ADDR;
  attr.addr = buffer;
  ibv_mr* mr = e.Made(ibv_reg_mr_ex(e.Pd(), &attr));
  e.Release([mr] { return ibv_dereg_mr(mr); });
}
RECIPE(ibv_reg_buf_mr, ibv_dereg_mr) {
  ibv_buf* buf = nullptr;
  void* address = e.Made(ibv_alloc_buf(e.Pd(), 4096, &buf));
  e.ReleaseVoid([buf] { ibv_free_buf(buf); });
  ibv_mr* mr = e.Made(ibv_reg_buf_mr(e.Pd(), buf, address, 64, 0));
  e.Release([mr] { return ibv_dereg_mr(mr); });
}
PAIR(ibv_reg_dm_mr, ibv_dereg_mr, e.Pd(), e.Dm(), 0, 64, IBV_ACCESS_ZERO_BASED)
PAIR(ibv_alloc_null_mr, ibv_dereg_mr, e.Pd())
PAIR_VOID(ibv_import_mr, ibv_unimport_mr, e.Pd(), 1)
PAIR(ibv_alloc_mw, ibv_dealloc_mw, e.Pd(), IBV_MW_TYPE_1)
RECIPE(ibv_alloc_dm, ibv_free_dm) {
  ibv_alloc_dm_attr attr = {};
  attr.length = 64;
  ibv_dm* dm = e.Made(ibv_alloc_dm(e.Context(), &attr));
  e.Release([dm] { return ibv_free_dm(dm); });
}
PAIR_VOID(ibv_import_dm, ibv_unimport_dm, e.Context(), 1)
RECIPE(ibv_dm_export_dmabuf_fd, close) {
  const int fd = ibv_dm_export_dmabuf_fd(e.Dm());
  MUST(fd >= 0);
  e.Release([fd] { return close(fd); });
}
RECIPE(ibv_alloc_buf, ibv_free_buf) {
  ibv_buf* buf = nullptr;
  e.Made(ibv_alloc_buf(e.Pd(), 4096, &buf));
  e.ReleaseVoid([buf] { ibv_free_buf(buf); });
}
RECIPE(ibv_export_buf_dmabuf_fd, close) {
  const int fd = ibv_export_buf_dmabuf_fd(e.Buf());
  MUST(fd >= 0);
  e.Release([fd] { return close(fd); });
}
RECIPE(ibv_alloc_dmah, ibv_dealloc_dmah) {
  ibv_dmah_init_attr attr = {};
  ibv_dmah* dmah = e.Made(ibv_alloc_dmah(e.Context(), &attr));
  e.Release([dmah] { return ibv_dealloc_dmah(dmah); });
}
RECIPE(ibv_create_srq, ibv_destroy_srq) {
  ibv_srq_init_attr attr = {};
  attr.attr.max_wr = attr.attr.max_sge = 1;
  ibv_srq* srq = e.Made(ibv_create_srq(e.Pd(), &attr));
  e.Release([srq] { return ibv_destroy_srq(srq); });
}
RECIPE(ibv_create_srq_ex, ibv_destroy_srq) {
  ibv_srq_init_attr_ex attr = e.SrqAttrEx();
  ibv_srq* srq = e.Made(ibv_create_srq_ex(e.Context(), &attr));
  e.Release([srq] { return ibv_destroy_srq(srq); });
}
RECIPE(ibv_open_xrcd, ibv_close_xrcd) {
  ibv_xrcd_init_attr attr = {};
  attr.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  attr.fd = -1;
  attr.oflags = O_CREAT;
  ibv_xrcd* xrcd = e.Made(ibv_open_xrcd(e.Context(), &attr));
  e.Release([xrcd] { return ibv_close_xrcd(xrcd); });
}
RECIPE(ibv_create_qp, ibv_destroy_qp) {
  ibv_qp_init_attr attr = e.QpAttr();
  ibv_qp* qp = e.Made(ibv_create_qp(e.Pd(), &attr));
  e.Release([qp] { return ibv_destroy_qp(qp); });
}
RECIPE(ibv_create_qp_ex, ibv_destroy_qp) {
  ibv_qp_init_attr_ex attr = e.QpAttrEx();
  ibv_qp* qp = e.Made(ibv_create_qp_ex(e.Context(), &attr));
  e.Release([qp] { return ibv_destroy_qp(qp); });
}
RECIPE(ibv_open_qp, ibv_destroy_qp) {
  ibv_qp_open_attr attr = {};
  attr.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  attr.qp_num = 17;
  attr.xrcd = e.Xrcd();
  attr.qp_type = IBV_QPT_XRC_RECV;
  ibv_qp* qp = e.Made(ibv_open_qp(e.Context(), &attr));
  e.Release([qp] { return ibv_destroy_qp(qp); });
}
RECIPE(ibv_attach_mcast, ibv_detach_mcast) {
  ibv_qp_init_attr attr = e.QpAttr();
  attr.qp_type = IBV_QPT_UD;
  ibv_qp* qp = e.Made(ibv_create_qp(e.Pd(), &attr));
  e.Release([qp] { return ibv_destroy_qp(qp); });
  static union ibv_gid gid;
  gid.raw[0] = 0xff;
  MUST(ibv_attach_mcast(qp, &gid, 0) == 0);
  e.Release([qp] { return ibv_detach_mcast(qp, &gid, 0); });
}
RECIPE(ibv_create_wq, ibv_destroy_wq) {
  ibv_wq_init_attr attr = e.WqAttr();
  ibv_wq* wq = e.Made(ibv_create_wq(e.Context(), &attr));
  e.Release([wq] { return ibv_destroy_wq(wq); });
}
RECIPE(ibv_create_rwq_ind_table, ibv_destroy_rwq_ind_table) {
  ibv_wq* wqs[2] = {e.Wq(), e.Wq()};
  ibv_rwq_ind_table_init_attr attr = {};
  attr.log_ind_tbl_size = 1;
  attr.ind_tbl = wqs;
  ibv_rwq_ind_table* table = e.Made(ibv_create_rwq_ind_table(e.Context(), &attr));
  e.Release([table] { return ibv_destroy_rwq_ind_table(table); });
}
RECIPE(ibv_create_ah, ibv_destroy_ah) {
  ibv_ah_attr attr = {};
  attr.port_num = 1;
  ibv_ah* ah = e.Made(ibv_create_ah(e.Pd(), &attr));
  e.Release([ah] { return ibv_destroy_ah(ah); });
}
RECIPE(ibv_create_ah_from_wc, ibv_destroy_ah) {
  ibv_wc wc = {};
  ibv_ah* ah = e.Made(ibv_create_ah_from_wc(e.Pd(), &wc, nullptr, 1));
  e.Release([ah] { return ibv_destroy_ah(ah); });
}
RECIPE(ibv_create_flow, ibv_destroy_flow) {
  ibv_flow_attr attr = {};
  attr.size = sizeof(attr);
  attr.port = 1;
  ibv_flow* flow = e.Made(ibv_create_flow(e.Qp(), &attr));
  e.Release([flow] { return ibv_destroy_flow(flow); });
}
RECIPE(ibv_create_flow_action_esp, ibv_destroy_flow_action) {
  ibv_flow_action_esp_attr attr = {};
  ibv_flow_action* action = e.Made(ibv_create_flow_action_esp(e.Context(), &attr));
  e.Release([action] { return ibv_destroy_flow_action(action); });
}
RECIPE(ibv_create_counters, ibv_destroy_counters) {
  ibv_counters_init_attr attr = {};
  ibv_counters* counters = e.Made(ibv_create_counters(e.Context(), &attr));
  e.Release([counters] { return ibv_destroy_counters(counters); });
}
RECIPE(ibv_create_comp_cntr, ibv_destroy_comp_cntr) {
  ibv_comp_cntr_init_attr attr = {};
  ibv_comp_cntr* counter = e.Made(ibv_create_comp_cntr(e.Context(), &attr));
  e.Release([counter] { return ibv_destroy_comp_cntr(counter); });
}

// ---- direct_verbs.def, generic objects

PAIR(mlx5dv_open_device, ibv_close_device, e.Device(), nullptr)
PAIR_VOID(mlx5dv_get_vfio_device_list, ibv_free_device_list, nullptr)
RECIPE(mlx5dv_create_cq, ibv_destroy_cq) {
  ibv_cq_init_attr_ex attr = e.CqAttrEx();
  ibv_cq* cq = ibv_cq_ex_to_cq(e.Made(mlx5dv_create_cq(e.Context(), &attr, nullptr)));
  e.Release([cq] { return ibv_destroy_cq(cq); });
}
#define DIRECT_QP(verb, ...)                            \
  RECIPE(verb, ibv_destroy_qp) {                        \
    ibv_qp_init_attr_ex attr = e.QpAttrEx();            \
    ibv_qp* qp = e.Made(verb(e.Context(), &attr, __VA_ARGS__)); \
    e.Release([qp] { return ibv_destroy_qp(qp); });     \
  }
DIRECT_QP(mlx5dv_create_qp, nullptr)
DIRECT_QP(mlx4dv_create_qp, nullptr)
DIRECT_QP(efadv_create_qp_ex, nullptr, 0)
DIRECT_QP(hnsdv_create_qp, nullptr)
RECIPE(efadv_create_driver_qp, ibv_destroy_qp) {
  ibv_qp_init_attr attr = e.QpAttr();
  ibv_qp* qp = e.Made(efadv_create_driver_qp(e.Pd(), &attr, 0));
  e.Release([qp] { return ibv_destroy_qp(qp); });
}
RECIPE(efadv_create_cq, ibv_destroy_cq) {
  ibv_cq_init_attr_ex attr = e.CqAttrEx();
  ibv_cq* cq = ibv_cq_ex_to_cq(e.Made(efadv_create_cq(e.Context(), &attr, nullptr, 0)));
  e.Release([cq] { return ibv_destroy_cq(cq); });
}
PAIR(efadv_create_comp_cntr, ibv_destroy_comp_cntr, e.Context(), nullptr, nullptr, 0)
RECIPE(mlx5dv_create_wq, ibv_destroy_wq) {
  ibv_wq_init_attr attr = e.WqAttr();
  ibv_wq* wq = e.Made(mlx5dv_create_wq(e.Context(), &attr, nullptr));
  e.Release([wq] { return ibv_destroy_wq(wq); });
}
RECIPE(mlx5dv_alloc_dm, ibv_free_dm) {
  ibv_alloc_dm_attr attr = {};
  attr.length = 64;
  ibv_dm* dm = e.Made(mlx5dv_alloc_dm(e.Context(), &attr, nullptr));
  e.Release([dm] { return ibv_free_dm(dm); });
}
PAIR(mlx5dv_reg_dmabuf_mr, ibv_dereg_mr, e.Pd(), 0, 64, 0, 0, 0, 0)
PAIR(mlx5dv_create_flow, ibv_destroy_flow, e.FlowMatcher(), nullptr, 0, nullptr)
PAIR(__mlx5dv_create_flow, ibv_destroy_flow, e.FlowMatcher(), nullptr, 0, nullptr, 16)
PAIR(mlx5dv_create_flow_action_esp, ibv_destroy_flow_action, e.Context(), nullptr, nullptr)
PAIR(mlx5dv_create_flow_action_modify_header, ibv_destroy_flow_action, e.Context(), 0, nullptr, 0)
PAIR(mlx5dv_create_flow_action_packet_reformat, ibv_destroy_flow_action, e.Context(), 0, nullptr, 0, 0)

// ---- direct_verbs.def, pairs of their own

RECIPE(mlx5dv_create_flow_matcher, mlx5dv_destroy_flow_matcher) {
  AnyAttr attr;
  mlx5dv_flow_matcher* matcher = e.Made(mlx5dv_create_flow_matcher(e.Context(), attr.As<mlx5dv_flow_matcher_attr>()));
  e.Release([matcher] { return mlx5dv_destroy_flow_matcher(matcher); });
}
RECIPE(mlx5dv_create_mkey, mlx5dv_destroy_mkey) {
  AnyAttr attr;
  mlx5dv_mkey* mkey = e.Made(mlx5dv_create_mkey(attr.Put(0, e.Pd()).As<mlx5dv_mkey_init_attr>()));
  e.Release([mkey] { return mlx5dv_destroy_mkey(mkey); });
}
PAIR(mlx5dv_create_steering_anchor, mlx5dv_destroy_steering_anchor, e.Context(), nullptr)
PAIR(mlx5dv_devx_obj_create, mlx5dv_devx_obj_destroy, e.Context(), nullptr, 0, buffer, 16)
PAIR_VOID(mlx5dv_devx_obj_import, mlx5dv_devx_obj_unimport, e.Context(), nullptr)
PAIR(mlx5dv_devx_umem_reg, mlx5dv_devx_umem_dereg, e.Context(), buffer, 64, 0)
PAIR(mlx5dv_devx_umem_reg_ex, mlx5dv_devx_umem_dereg, e.Context(), nullptr)
PAIR_VOID(mlx5dv_devx_umem_import, mlx5dv_devx_umem_unimport, e.Context(), nullptr)
PAIR_VOID(mlx5dv_devx_alloc_uar, mlx5dv_devx_free_uar, e.Context(), 0)
RECIPE(mlx5dv_devx_uar_export_dmabuf_fd, close) {
  const int fd = mlx5dv_devx_uar_export_dmabuf_fd(e.DevxUar());
  MUST(fd >= 0);
  e.Release([fd] { return close(fd); });
}
PAIR_VOID(mlx5dv_alloc_var, mlx5dv_free_var, e.Context(), 0)
PAIR_VOID(mlx5dv_var_import, mlx5dv_var_unimport, e.Context(), nullptr)
PAIR_VOID(mlx5dv_pp_alloc, mlx5dv_pp_free, e.Context(), 0, nullptr, 0)
PAIR_VOID(mlx5dv_devx_create_cmd_comp, mlx5dv_devx_destroy_cmd_comp, e.Context())
PAIR_VOID(mlx5dv_devx_create_event_channel, mlx5dv_devx_destroy_event_channel, e.Context(), 1)
PAIR(mlx5dv_devx_alloc_msi_vector, mlx5dv_devx_free_msi_vector, e.Context())
PAIR(mlx5dv_devx_create_eq, mlx5dv_devx_destroy_eq, e.Context(), nullptr, 0, buffer, 16)
RECIPE(mlx5dv_sched_node_create, mlx5dv_sched_node_destroy) {
  AnyAttr attr;
  mlx5dv_sched_node* node = e.Made(mlx5dv_sched_node_create(e.Context(), attr.As<mlx5dv_sched_attr>()));
  e.Release([node] { return mlx5dv_sched_node_destroy(node); });
}
RECIPE(mlx5dv_sched_leaf_create, mlx5dv_sched_leaf_destroy) {
  AnyAttr attr;
  mlx5dv_sched_node* node = e.Made(mlx5dv_sched_node_create(e.Context(), attr.As<mlx5dv_sched_attr>()));
  e.Release([node] { return mlx5dv_sched_node_destroy(node); });
  mlx5dv_sched_leaf* leaf = e.Made(mlx5dv_sched_leaf_create(e.Context(), attr.Put(0, node).As<mlx5dv_sched_attr>()));
  e.Release([leaf] { return mlx5dv_sched_leaf_destroy(leaf); });
}
RECIPE(mlx5dv_reserved_qpn_alloc, mlx5dv_reserved_qpn_dealloc) {
  static uint32_t qpn;
  ibv_context* context = e.Context();
  MUST(mlx5dv_reserved_qpn_alloc(context, &qpn) == 0);
  e.Release([context] { return mlx5dv_reserved_qpn_dealloc(context, qpn); });
}
RECIPE(mlx5dv_dek_create, mlx5dv_dek_destroy) {
  AnyAttr attr;
  mlx5dv_dek* dek = e.Made(mlx5dv_dek_create(e.Context(), attr.Put(2, e.Pd()).As<mlx5dv_dek_init_attr>()));
  e.Release([dek] { return mlx5dv_dek_destroy(dek); });
}
RECIPE(mlx5dv_crypto_login, mlx5dv_crypto_logout) {
  ibv_context* context = e.Context();
  MUST(mlx5dv_crypto_login(context, nullptr) == 0);
  e.Release([context] { return mlx5dv_crypto_logout(context); });
}
PAIR(mlx5dv_crypto_login_create, mlx5dv_crypto_login_destroy, e.Context(), nullptr)

// ---- direct_verbs.def, direct rules

PAIR(mlx5dv_dr_domain_create, mlx5dv_dr_domain_destroy, e.Context(), 0)
PAIR(mlx5dv_dr_table_create, mlx5dv_dr_table_destroy, e.DrDomain(), 1)
PAIR(mlx5dv_dr_matcher_create, mlx5dv_dr_matcher_destroy, e.DrTable(), 0, 0, nullptr)
RECIPE(mlx5dv_dr_rule_create, mlx5dv_dr_rule_destroy) {
  mlx5dv_dr_action* actions[] = {e.DrAction()};
  mlx5dv_dr_rule* rule = e.Made(mlx5dv_dr_rule_create(e.DrMatcher(), nullptr, 1, actions));
  e.Release([rule] { return mlx5dv_dr_rule_destroy(rule); });
}
PAIR(mlx5dv_dr_action_create_aso, mlx5dv_dr_action_destroy, e.DrDomain(), e.DevxObj(), 0, 0, 0)
PAIR(mlx5dv_dr_action_create_default_miss, mlx5dv_dr_action_destroy, )
RECIPE(mlx5dv_dr_action_create_dest_array, mlx5dv_dr_action_destroy) {
  AnyAttr dest;
  mlx5dv_dr_action* drop = e.DrAction();
  mlx5dv_dr_action_dest_attr* dests[] = {dest.Put(1, drop).As<mlx5dv_dr_action_dest_attr>()};
  mlx5dv_dr_action* action = e.Made(mlx5dv_dr_action_create_dest_array(e.DrDomain(), 1, dests));
  e.Release([action] { return mlx5dv_dr_action_destroy(action); });
}
PAIR(mlx5dv_dr_action_create_dest_devx_tir, mlx5dv_dr_action_destroy, e.DevxObj())
PAIR(mlx5dv_dr_action_create_dest_ib_port, mlx5dv_dr_action_destroy, e.DrDomain(), 1)
PAIR(mlx5dv_dr_action_create_dest_ibv_qp, mlx5dv_dr_action_destroy, e.Qp())
PAIR(mlx5dv_dr_action_create_dest_root_table, mlx5dv_dr_action_destroy, e.DrTable(), 0)
PAIR(mlx5dv_dr_action_create_dest_table, mlx5dv_dr_action_destroy, e.DrTable())
PAIR(mlx5dv_dr_action_create_dest_vport, mlx5dv_dr_action_destroy, e.DrDomain(), 0)
PAIR(mlx5dv_dr_action_create_drop, mlx5dv_dr_action_destroy, )
PAIR(mlx5dv_dr_action_create_flow_counter, mlx5dv_dr_action_destroy, e.DevxObj(), 0)
RECIPE(mlx5dv_dr_action_create_flow_meter, mlx5dv_dr_action_destroy) {
  AnyAttr attr;
  mlx5dv_dr_action* action =
      e.Made(mlx5dv_dr_action_create_flow_meter(attr.Put(0, e.DrTable()).As<mlx5dv_dr_flow_meter_attr>()));
  e.Release([action] { return mlx5dv_dr_action_destroy(action); });
}
RECIPE(mlx5dv_dr_action_create_flow_sampler, mlx5dv_dr_action_destroy) {
  AnyAttr attr;
  mlx5dv_dr_action* action =
      e.Made(mlx5dv_dr_action_create_flow_sampler(attr.Put(1, e.DrTable()).As<mlx5dv_dr_flow_sampler_attr>()));
  e.Release([action] { return mlx5dv_dr_action_destroy(action); });
}
PAIR(mlx5dv_dr_action_create_modify_header, mlx5dv_dr_action_destroy, e.DrDomain(), 1, 0, nullptr)
PAIR(mlx5dv_dr_action_create_packet_reformat, mlx5dv_dr_action_destroy, e.DrDomain(), 1, 0, 0, nullptr)
PAIR(mlx5dv_dr_action_create_pop_vlan, mlx5dv_dr_action_destroy, )
PAIR(mlx5dv_dr_action_create_push_vlan, mlx5dv_dr_action_destroy, e.DrDomain(), 0)
PAIR(mlx5dv_dr_action_create_tag, mlx5dv_dr_action_destroy, 0)

// ---- the rows

struct Row {
  std::string verb;
  std::string effect;
};
const std::vector<Row> rows = {
#define PLT_VERB(library, version, symbol, argc, ...) {#symbol, #__VA_ARGS__},
#define SLOT_VERB(symbol, slot, ...) {#symbol, #__VA_ARGS__},
#include "interpose/effects/verbs.def"
#include "interpose/effects/direct_verbs.def"
#undef PLT_VERB
#undef SLOT_VERB
};

bool StartsWith(const std::string& text, const char* with) { return text.compare(0, strlen(with), with) == 0; }

// The kind that a row makes, in the words of reports, or nothing if it makes none.
std::string KindMadeBy(const Row& row) {
  if (row.effect == "Lists") return "device_list";
  if (row.effect == "Opens" || row.effect == "Imports") return "context";
  if (StartsWith(row.effect, "CreatesFd")) return "dmabuf_fd";
  if (StartsWith(row.effect, "CreatesBuf")) return "buf";
  if (!StartsWith(row.effect, "Creates<") && !StartsWith(row.effect, "CreatesKeyed<")) return "";
  const size_t at = row.effect.find("Kind::") + 6;
  const std::string enumerator = row.effect.substr(at, row.effect.find_first_of(",> ", at) - at);
#define X(name, words) \
  if (enumerator == #name) return words;
  RDMACHECK_KINDS(X)
#undef X
  return "";
}

bool Releases(const Row& row) {
  return StartsWith(row.effect, "Destroys") || row.effect == "Closes";
}

int List() {
  int missing = 0;
  std::set<std::string> names, used;
  for (const Row& row : rows) {
    names.insert(row.verb);
    const std::string kind = KindMadeBy(row);
    if (kind.empty()) {
      if (StartsWith(row.effect, "Creates")) missing += printf("?? %s: what kind does it make?\n", row.verb.c_str());
      continue;
    }
    const auto recipe = recipes.find(row.verb);
    if (recipe == recipes.end()) {
      missing += fprintf(stderr, "all_rows: no recipe for %s\n", row.verb.c_str());
      continue;
    }
    used.insert(recipe->second.release);
    printf("%s %s %s\n", row.verb.c_str(), kind.c_str(), recipe->second.release.c_str());
  }
  for (const Row& row : rows) {
    if (Releases(row) && used.count(row.verb) == 0) missing += fprintf(stderr, "all_rows: nothing uses %s\n", row.verb.c_str());
  }
  for (const auto& [verb, recipe] : recipes) {
    if (names.count(verb) == 0) missing += fprintf(stderr, "all_rows: no row for the recipe %s\n", verb.c_str());
  }
  return missing == 0 ? 0 : 99;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "list") return List();
  MUST(argc == 3 && (mode == "leak" || mode == "clean"));
  const auto recipe = recipes.find(argv[2]);
  MUST(recipe != recipes.end());
  Env env;
  const uint64_t before = fake_calls(argv[2]);
  recipe->second.make(env);
  // The verb itself was reached, not another that does as well.
  MUST(fake_calls(argv[2]) > before);
  if (mode == "clean") {
    env.ReleaseAll();
    MUST(recipe->second.release == "close" || fake_calls(recipe->second.release.c_str()) > 0);
  } else if (env.has_context()) {
    MUST(ibv_close_device(env.Context()) == 0);
  }
  return 0;
}
