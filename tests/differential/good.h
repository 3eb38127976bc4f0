// A good argument of each type that a watched verb takes: live objects, attributes that the fake accepts, zeroed memory
// for the rest.
#pragma once

#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <rdma/rsocket.h>
#include <sys/socket.h>

#include <type_traits>

#include "tests/scenario/rows/env.h"

namespace {

inline void NeverWait(int fd) { MUST(fcntl(fd, F_SETFL, O_NONBLOCK) == 0); }

class Good {
 public:
  explicit Good(Env& env) : e(env) {}

  template <class T>
  T Of() {
    using Bare = std::remove_cv_t<std::remove_pointer_t<T>>;
    if constexpr (!std::is_pointer_v<T>) {
      // A length; every other number is 0: a descriptor, flags, an offset, a handle.
      return static_cast<T>(std::is_same_v<T, size_t> ? 16 : 0);
    } else {
      return Pointer(static_cast<Bare*>(nullptr));
    }
  }
  Env& env() { return e; }

 private:
  // Whatever has no overload below: out parameters and attributes that may be all zero.
  template <class T>
  T* Pointer(T*) {
    alignas(64) static char zeros[16][4096];
    static int next;
    return reinterpret_cast<T*>(zeros[next++ % 16]);
  }

  ibv_device* Pointer(ibv_device*) { return e.Device(); }
  ibv_context* Pointer(ibv_context*) {
    ibv_context* context = e.Context();
    NeverWait(context->async_fd);
    return context;
  }
  ibv_pd* Pointer(ibv_pd*) { return e.Pd(); }
  ibv_cq* Pointer(ibv_cq*) { return e.Cq(); }
  ibv_qp* Pointer(ibv_qp*) { return e.Qp(); }
  ibv_xrcd* Pointer(ibv_xrcd*) { return e.Xrcd(); }
  ibv_wq* Pointer(ibv_wq*) { return e.Wq(); }
  ibv_dm* Pointer(ibv_dm*) { return e.Dm(); }

#define OBJECT(type, make, release)                        \
  type* Pointer(type*) {                                   \
    type* object = e.Made(make);                           \
    e.ReleaseVoid([object] { (void)release(object); });    \
    return object;                                         \
  }
  OBJECT(ibv_device*, ibv_get_device_list(nullptr), ibv_free_device_list)
  OBJECT(ibv_mr, ibv_reg_mr(e.Pd(), memory, 64, 0), ibv_dereg_mr)
  OBJECT(ibv_mw, ibv_alloc_mw(e.Pd(), IBV_MW_TYPE_1), ibv_dealloc_mw)
  OBJECT(ibv_td, ibv_alloc_td(e.Context(), Zero<ibv_td_init_attr>()), ibv_dealloc_td)
  OBJECT(ibv_srq, ibv_create_srq(e.Pd(), Pointer(Null<ibv_srq_init_attr>())), ibv_destroy_srq)
  OBJECT(ibv_ah, ibv_create_ah(e.Pd(), Pointer(Null<ibv_ah_attr>())), ibv_destroy_ah)
  OBJECT(ibv_flow, ibv_create_flow(e.Qp(), Pointer(Null<ibv_flow_attr>())), ibv_destroy_flow)
  OBJECT(ibv_flow_action, ibv_create_flow_action_esp(e.Context(), Zero<ibv_flow_action_esp_attr>()), ibv_destroy_flow_action)
  OBJECT(ibv_counters, ibv_create_counters(e.Context(), Zero<ibv_counters_init_attr>()), ibv_destroy_counters)
  OBJECT(ibv_rwq_ind_table, ibv_create_rwq_ind_table(e.Context(), Pointer(Null<ibv_rwq_ind_table_init_attr>())),
         ibv_destroy_rwq_ind_table)
  ibv_comp_channel* Pointer(ibv_comp_channel*) {
    ibv_comp_channel* channel = e.Made(ibv_create_comp_channel(e.Context()));
    e.ReleaseVoid([channel] { ibv_destroy_comp_channel(channel); });
    NeverWait(channel->fd);
    return channel;
  }

  ibv_srq_init_attr* Pointer(ibv_srq_init_attr*) {
    static ibv_srq_init_attr attr;
    attr.attr.max_wr = attr.attr.max_sge = 1;
    return &attr;
  }
  ibv_srq_init_attr_ex* Pointer(ibv_srq_init_attr_ex*) {
    static ibv_srq_init_attr_ex attr;
    return &(attr = e.SrqAttrEx());
  }
  ibv_qp_init_attr* Pointer(ibv_qp_init_attr*) {
    static ibv_qp_init_attr attr;
    return &(attr = e.QpAttr());
  }
  ibv_qp_init_attr_ex* Pointer(ibv_qp_init_attr_ex*) {
    static ibv_qp_init_attr_ex attr;
    return &(attr = e.QpAttrEx());
  }
  ibv_wq_init_attr* Pointer(ibv_wq_init_attr*) {
    static ibv_wq_init_attr attr;
    return &(attr = e.WqAttr());
  }
  ibv_cq_init_attr_ex* Pointer(ibv_cq_init_attr_ex*) {
    static ibv_cq_init_attr_ex attr;
    return &(attr = e.CqAttrEx());
  }
  ibv_rwq_ind_table_init_attr* Pointer(ibv_rwq_ind_table_init_attr*) {
    static ibv_wq* queues[2];
    static ibv_rwq_ind_table_init_attr attr;
    queues[0] = e.Wq();
    queues[1] = e.Wq();
    attr.log_ind_tbl_size = 1;
    attr.ind_tbl = queues;
    return &attr;
  }
  ibv_parent_domain_init_attr* Pointer(ibv_parent_domain_init_attr*) {
    static ibv_parent_domain_init_attr attr;
    attr.pd = e.Pd();
    return &attr;
  }
  ibv_alloc_dm_attr* Pointer(ibv_alloc_dm_attr*) {
    static ibv_alloc_dm_attr attr;
    attr.length = 64;
    return &attr;
  }
  ibv_ah_attr* Pointer(ibv_ah_attr*) {
    static ibv_ah_attr attr;
    attr.port_num = 1;
    return &attr;
  }
  ibv_flow_attr* Pointer(ibv_flow_attr*) {
    static ibv_flow_attr attr;
    attr.size = sizeof(attr);
    attr.port = 1;
    return &attr;
  }
  ibv_xrcd_init_attr* Pointer(ibv_xrcd_init_attr*) {
    static ibv_xrcd_init_attr attr;
    attr.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    attr.fd = -1;
    attr.oflags = O_CREAT;
    return &attr;
  }
  ibv_qp_open_attr* Pointer(ibv_qp_open_attr*) {
    static ibv_qp_open_attr attr;
    attr.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
    attr.qp_num = 17;
    attr.xrcd = e.Xrcd();
    attr.qp_type = IBV_QPT_XRC_RECV;
    return &attr;
  }
  ibv_gid* Pointer(ibv_gid*) {
    static ibv_gid gid;
    gid.raw[0] = 0xff;
    return &gid;
  }

#ifdef ON_FAKE
  ibv_buf* Pointer(ibv_buf*) { return e.Buf(); }
  OBJECT(ibv_dmah, ibv_alloc_dmah(e.Context(), Zero<ibv_dmah_init_attr>()), ibv_dealloc_dmah)
  OBJECT(ibv_comp_cntr, ibv_create_comp_cntr(e.Context(), Zero<ibv_comp_cntr_init_attr>()), ibv_destroy_comp_cntr)
  // An event that has been taken: of the CQ, which then waits for its ack.
  ibv_async_event* Pointer(ibv_async_event*) {
    static ibv_async_event event;
    ibv_context* context = Pointer(Null<ibv_context>());
    MUST(fake_post_async_event(context, IBV_EVENT_CQ_ERR, e.Cq()) == 0);
    if (takes_event) MUST(ibv_get_async_event(context, &event) == 0);
    return &event;
  }
  mlx5dv_devx_obj* Pointer(mlx5dv_devx_obj*) { return e.DevxObj(); }
  mlx5dv_devx_uar* Pointer(mlx5dv_devx_uar*) { return e.DevxUar(); }
  mlx5dv_flow_matcher* Pointer(mlx5dv_flow_matcher*) { return e.FlowMatcher(); }
  mlx5dv_dr_domain* Pointer(mlx5dv_dr_domain*) { return e.DrDomain(); }
  mlx5dv_dr_table* Pointer(mlx5dv_dr_table*) { return e.DrTable(); }
  mlx5dv_dr_matcher* Pointer(mlx5dv_dr_matcher*) { return e.DrMatcher(); }
  mlx5dv_dr_action* Pointer(mlx5dv_dr_action*) { return e.DrAction(); }
  OBJECT(mlx5dv_mkey, mlx5dv_create_mkey(Pointer(Null<mlx5dv_mkey_init_attr>())), mlx5dv_destroy_mkey)
  OBJECT(mlx5dv_steering_anchor, mlx5dv_create_steering_anchor(e.Context(), nullptr), mlx5dv_destroy_steering_anchor)
  OBJECT(mlx5dv_devx_umem, mlx5dv_devx_umem_reg(e.Context(), memory, 64, 0), mlx5dv_devx_umem_dereg)
  OBJECT(mlx5dv_var, mlx5dv_alloc_var(e.Context(), 0), mlx5dv_free_var)
  OBJECT(mlx5dv_pp, mlx5dv_pp_alloc(e.Context(), 0, nullptr, 0), mlx5dv_pp_free)
  OBJECT(mlx5dv_devx_cmd_comp, mlx5dv_devx_create_cmd_comp(e.Context()), mlx5dv_devx_destroy_cmd_comp)
  OBJECT(mlx5dv_devx_event_channel, mlx5dv_devx_create_event_channel(e.Context(), 1), mlx5dv_devx_destroy_event_channel)
  OBJECT(mlx5dv_devx_msi_vector, mlx5dv_devx_alloc_msi_vector(e.Context()), mlx5dv_devx_free_msi_vector)
  OBJECT(mlx5dv_devx_eq, mlx5dv_devx_create_eq(e.Context(), nullptr, 0, memory, 16), mlx5dv_devx_destroy_eq)
  OBJECT(mlx5dv_sched_node, mlx5dv_sched_node_create(e.Context(), Zero<mlx5dv_sched_attr>()), mlx5dv_sched_node_destroy)
  OBJECT(mlx5dv_sched_leaf, mlx5dv_sched_leaf_create(e.Context(), Under<mlx5dv_sched_attr>(0, Pointer(Null<mlx5dv_sched_node>()))),
         mlx5dv_sched_leaf_destroy)
  OBJECT(mlx5dv_dek, mlx5dv_dek_create(e.Context(), Pointer(Null<mlx5dv_dek_init_attr>())), mlx5dv_dek_destroy)
  OBJECT(mlx5dv_crypto_login_obj, mlx5dv_crypto_login_create(e.Context(), nullptr), mlx5dv_crypto_login_destroy)
  OBJECT(mlx5dv_dr_rule, mlx5dv_dr_rule_create(e.DrMatcher(), nullptr, 0, nullptr), mlx5dv_dr_rule_destroy)
  mlx5dv_mkey_init_attr* Pointer(mlx5dv_mkey_init_attr*) { return Under<mlx5dv_mkey_init_attr>(0, e.Pd()); }
  mlx5dv_dek_init_attr* Pointer(mlx5dv_dek_init_attr*) { return Under<mlx5dv_dek_init_attr>(2, e.Pd()); }
  mlx5dv_dr_flow_meter_attr* Pointer(mlx5dv_dr_flow_meter_attr*) { return Under<mlx5dv_dr_flow_meter_attr>(0, e.DrTable()); }
  mlx5dv_dr_flow_sampler_attr* Pointer(mlx5dv_dr_flow_sampler_attr*) {
    return Under<mlx5dv_dr_flow_sampler_attr>(1, e.DrTable());
  }
#else
  OBJECT(rdma_addrinfo, Addrinfo(), rdma_freeaddrinfo)
  OBJECT(ibv_context*, rdma_get_devices(nullptr), rdma_free_devices)
  rdma_event_channel* Pointer(rdma_event_channel*) {
    if (channel_ != nullptr) return channel_;
    channel_ = e.Made(rdma_create_event_channel());
    NeverWait(channel_->fd);
    return channel_;
  }
  rdma_cm_id* Pointer(rdma_cm_id*) {
    rdma_cm_id* id = nullptr;
    MUST(rdma_create_id(Pointer(Null<rdma_event_channel>()), &id, nullptr, RDMA_PS_TCP) == 0);
    return id;
  }
  // An event that has been taken: an address that was resolved.
  rdma_cm_event* Pointer(rdma_cm_event*) {
    rdma_event_channel* channel = e.Made(rdma_create_event_channel());
    rdma_cm_id* id = nullptr;
    rdma_cm_event* event = nullptr;
    MUST(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) == 0);
    MUST(rdma_resolve_addr(id, nullptr, Pointer(Null<sockaddr>()), 2000) == 0);
    MUST(rdma_get_cm_event(channel, &event) == 0);
    return event;
  }
  sockaddr* Pointer(sockaddr*) {
    static sockaddr_in address;
    address.sin_family = AF_INET;
    address.sin_port = htons(7471);
    inet_pton(AF_INET, "10.77.0.1", &address.sin_addr);
    return reinterpret_cast<sockaddr*>(&address);
  }
  char* Pointer(char*) {
    static char address[] = "10.77.0.1";
    return address;
  }
  rdma_addrinfo* Addrinfo() {
    rdma_addrinfo* found = nullptr;
    MUST(rdma_getaddrinfo("10.77.0.1", "7471", nullptr, &found) == 0);
    return found;
  }
  rdma_event_channel* channel_ = nullptr;
#endif
#undef OBJECT

  template <class T>
  static T* Null() {
    return nullptr;
  }
  template <class T>
  T* Zero() {
    return Under<T>(0, nullptr);
  }
  template <class T>
  T* Under(size_t at, const void* pointer) {
    static AnyAttr attr;
    attr = AnyAttr();
    return attr.Put(at, pointer).template As<T>();
  }

  Env& e;
  char memory[4096];

 public:
  bool takes_event = false;
};

}  // namespace
