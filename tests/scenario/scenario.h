// What scenario programs share: attributes that are long to write, and checks. The verbs a scenario is about are called
// in the scenario itself, so that the report names its lines.
#pragma once

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAKE_WEAK
#include "fake_verbs.h"

// The program's own expectation; status 99 and a sentence if it fails, so that the scenario fails with its reason.
#define MUST(condition)                                                                        \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      fprintf(stderr, "%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
      _exit(99);                                                                               \
    }                                                                                          \
  } while (0)

// The first device; its list is freed.
static inline struct ibv_context* open_device(void) {
  struct ibv_device** list = ibv_get_device_list(NULL);
  MUST(list != NULL && list[0] != NULL);
  struct ibv_context* context = ibv_open_device(list[0]);
  MUST(context != NULL);
  ibv_free_device_list(list);
  return context;
}

static inline int on_stand_in(void) { return fake_reset != NULL; }

static inline struct ibv_qp_init_attr qp_attr(enum ibv_qp_type type, struct ibv_cq* cq, struct ibv_srq* srq) {
  struct ibv_qp_init_attr attr;
  memset(&attr, 0, sizeof(attr));
  attr.qp_type = type;
  attr.send_cq = cq;
  attr.recv_cq = cq;
  attr.srq = srq;
  attr.cap.max_send_wr = 4;
  attr.cap.max_recv_wr = srq == NULL ? 4 : 0;
  attr.cap.max_send_sge = 1;
  attr.cap.max_recv_sge = srq == NULL ? 1 : 0;
  return attr;
}

static inline struct ibv_srq_init_attr srq_attr(void) {
  struct ibv_srq_init_attr attr;
  memset(&attr, 0, sizeof(attr));
  attr.attr.max_wr = 8;
  attr.attr.max_sge = 1;
  return attr;
}

static inline struct ibv_ah_attr ah_attr(struct ibv_context* context) {
  struct ibv_ah_attr attr;
  memset(&attr, 0, sizeof(attr));
  attr.port_num = 1;
  attr.is_global = 1;
  attr.grh.hop_limit = 1;
  attr.grh.sgid_index = on_stand_in() ? 0 : 1;
  MUST(ibv_query_gid(context, 1, attr.grh.sgid_index, &attr.grh.dgid) == 0);
  return attr;
}

// RESET to INIT.
static inline int to_init(struct ibv_qp* qp) {
  struct ibv_qp_attr attr;
  memset(&attr, 0, sizeof(attr));
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qkey = 0x1111;
  const int more = qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
  return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | more);
}

// From INIT to RTS against itself: a loop of one.
static inline int to_rts(struct ibv_qp* qp, struct ibv_context* context, uint32_t peer) {
  struct ibv_qp_attr attr;
  memset(&attr, 0, sizeof(attr));
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_1024;
  attr.dest_qp_num = peer;
  attr.max_dest_rd_atomic = 1;
  attr.min_rnr_timer = 12;
  attr.ah_attr = ah_attr(context);
  int rc = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (rc != 0) return rc;
  memset(&attr, 0, sizeof(attr));
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 14;
  attr.retry_cnt = 7;
  attr.rnr_retry = 7;
  attr.max_rd_atomic = 1;
  return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                      IBV_QP_MAX_QP_RD_ATOMIC);
}
