// What a row of the tables needs before its verb can be called: a context, a PD, a CQ and so on, made at the first
// question and released in the end, last first. For programs on the fake libibverbs that go through whole tables.
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include "fake_verbs.h"
#include "interpose/verbs/direct_verbs_abi.h"
#include "newer_verbs.h"

namespace {

#define MUST(condition)                                                      \
  do {                                                                       \
    if (!(condition)) {                                                      \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      _exit(99);                                                             \
    }                                                                        \
  } while (0)

// Zeroed, and large enough for any provider's attributes, of which only the first pointers are ever read.
struct AnyAttr {
  uint64_t words[32] = {};
  template <class T>
  T* As() {
    return reinterpret_cast<T*>(words);
  }
  AnyAttr& Put(size_t at, const void* pointer) {
    words[at] = reinterpret_cast<uintptr_t>(pointer);
    return *this;
  }
};

// What a row needs, made at the first question and released in the end, last first.
class Env {
 public:
  template <class T>
  T* Made(T* object) {
    MUST(object != nullptr);
    return object;
  }
  void Release(std::function<int()> release) { releases_.push_back(std::move(release)); }
  void ReleaseVoid(std::function<void()> release) {
    releases_.push_back([release] {
      release();
      return 0;
    });
  }
  void ReleaseAll() {
    while (!releases_.empty()) {
      const std::function<int()> release = std::move(releases_.back());
      releases_.pop_back();
      MUST(release() == 0);
    }
  }
  bool has_context() const { return context_ != nullptr; }

  __attribute__((noinline)) ibv_device* Device() {
    ibv_device** list = Made(ibv_get_device_list(nullptr));
    ibv_device* device = Made(list[0]);
    ibv_free_device_list(list);
    return device;
  }
  __attribute__((noinline)) ibv_context* Context() {
    if (context_ != nullptr) return context_;
    context_ = Made(ibv_open_device(Device()));
    Release([this] { return ibv_close_device(context_); });
    return context_;
  }
  __attribute__((noinline)) ibv_pd* Pd() {
    if (pd_ != nullptr) return pd_;
    pd_ = Made(ibv_alloc_pd(Context()));
    Release([this] { return ibv_dealloc_pd(pd_); });
    return pd_;
  }
  __attribute__((noinline)) ibv_cq* Cq() {
    if (cq_ != nullptr) return cq_;
    cq_ = Made(ibv_create_cq(Context(), 4, nullptr, nullptr, 0));
    Release([this] { return ibv_destroy_cq(cq_); });
    return cq_;
  }
  __attribute__((noinline)) ibv_qp* Qp() {
    if (qp_ != nullptr) return qp_;
    ibv_qp_init_attr attr = QpAttr();
    qp_ = Made(ibv_create_qp(Pd(), &attr));
    Release([this] { return ibv_destroy_qp(qp_); });
    return qp_;
  }
  __attribute__((noinline)) ibv_xrcd* Xrcd() {
    if (xrcd_ != nullptr) return xrcd_;
    ibv_xrcd_init_attr attr = {};
    attr.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    attr.fd = -1;
    attr.oflags = O_CREAT;
    xrcd_ = Made(ibv_open_xrcd(Context(), &attr));
    Release([this] { return ibv_close_xrcd(xrcd_); });
    return xrcd_;
  }
  __attribute__((noinline)) ibv_wq* Wq() {
    ibv_wq_init_attr attr = WqAttr();
    ibv_wq* wq = Made(ibv_create_wq(Context(), &attr));
    Release([wq] { return ibv_destroy_wq(wq); });
    return wq;
  }
  __attribute__((noinline)) ibv_dm* Dm() {
    ibv_alloc_dm_attr attr = {};
    attr.length = 64;
    ibv_dm* dm = Made(ibv_alloc_dm(Context(), &attr));
    Release([dm] { return ibv_free_dm(dm); });
    return dm;
  }
  __attribute__((noinline)) ibv_buf* Buf() {
    ibv_buf* buf = nullptr;
    Made(ibv_alloc_buf(Pd(), 4096, &buf));
    ReleaseVoid([buf] { ibv_free_buf(buf); });
    return buf;
  }
  __attribute__((noinline)) mlx5dv_devx_obj* DevxObj() {
    char out[16];
    mlx5dv_devx_obj* object = Made(mlx5dv_devx_obj_create(Context(), nullptr, 0, out, sizeof(out)));
    Release([object] { return mlx5dv_devx_obj_destroy(object); });
    return object;
  }
  __attribute__((noinline)) mlx5dv_devx_uar* DevxUar() {
    mlx5dv_devx_uar* uar = Made(mlx5dv_devx_alloc_uar(Context(), 0));
    ReleaseVoid([uar] { mlx5dv_devx_free_uar(uar); });
    return uar;
  }
  __attribute__((noinline)) mlx5dv_flow_matcher* FlowMatcher() {
    AnyAttr attr;
    mlx5dv_flow_matcher* matcher = Made(mlx5dv_create_flow_matcher(Context(), attr.As<mlx5dv_flow_matcher_attr>()));
    Release([matcher] { return mlx5dv_destroy_flow_matcher(matcher); });
    return matcher;
  }
  __attribute__((noinline)) mlx5dv_dr_domain* DrDomain() {
    if (domain_ != nullptr) return domain_;
    domain_ = Made(mlx5dv_dr_domain_create(Context(), 0));
    Release([this] { return mlx5dv_dr_domain_destroy(domain_); });
    return domain_;
  }
  __attribute__((noinline)) mlx5dv_dr_table* DrTable() {
    if (table_ != nullptr) return table_;
    table_ = Made(mlx5dv_dr_table_create(DrDomain(), 1));
    Release([this] { return mlx5dv_dr_table_destroy(table_); });
    return table_;
  }
  __attribute__((noinline)) mlx5dv_dr_matcher* DrMatcher() {
    mlx5dv_dr_matcher* matcher = Made(mlx5dv_dr_matcher_create(DrTable(), 0, 0, nullptr));
    Release([matcher] { return mlx5dv_dr_matcher_destroy(matcher); });
    return matcher;
  }
  __attribute__((noinline)) mlx5dv_dr_action* DrAction() {
    mlx5dv_dr_action* action = Made(mlx5dv_dr_action_create_drop());
    Release([action] { return mlx5dv_dr_action_destroy(action); });
    return action;
  }

  ibv_qp_init_attr QpAttr() {
    ibv_qp_init_attr attr = {};
    attr.qp_type = IBV_QPT_RC;
    attr.send_cq = attr.recv_cq = Cq();
    attr.cap.max_send_wr = attr.cap.max_recv_wr = attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
    return attr;
  }
  // Of XRC: another type would come to ibv_create_srq.
  ibv_srq_init_attr_ex SrqAttrEx() {
    ibv_srq_init_attr_ex attr = {};
    attr.attr.max_wr = attr.attr.max_sge = 1;
    attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
    attr.srq_type = IBV_SRQT_XRC;
    attr.pd = Pd();
    attr.xrcd = Xrcd();
    attr.cq = Cq();
    return attr;
  }
  ibv_qp_init_attr_ex QpAttrEx() {
    ibv_qp_init_attr_ex attr = {};
    attr.qp_type = IBV_QPT_RC;
    attr.send_cq = attr.recv_cq = Cq();
    attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attr.pd = Pd();
    return attr;
  }
  ibv_wq_init_attr WqAttr() {
    ibv_wq_init_attr attr = {};
    attr.wq_type = IBV_WQT_RQ;
    attr.max_wr = attr.max_sge = 1;
    attr.pd = Pd();
    attr.cq = Cq();
    return attr;
  }
  ibv_cq_init_attr_ex CqAttrEx() {
    ibv_cq_init_attr_ex attr = {};
    attr.cqe = 4;
    return attr;
  }

 private:
  std::vector<std::function<int()>> releases_;
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_qp* qp_ = nullptr;
  ibv_xrcd* xrcd_ = nullptr;
  mlx5dv_dr_domain* domain_ = nullptr;
  mlx5dv_dr_table* table_ = nullptr;
};

}  // namespace
