// Teardown put the QP into ERR, waited for an event that never comes, and gave up: its state is reported (B13, B09a).
// RUN: on=both exit=23
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 4 objects alive: 1 pd, 1 cq, 1 srq, 1 qp
// EXPECT: 1 qp #{{\d+}} on {{\w+}}: qpn=0x{{\w+}} state=ERR
// EXPECT-JSON: findings[object.kind=qp].message =~ it is in state ERR
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_srq_init_attr shared = srq_attr();
  struct ibv_srq* srq = ibv_create_srq(pd, &shared);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, srq);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);
  MUST(qp != NULL && to_init(qp) == 0);
  struct ibv_qp_attr error;
  memset(&error, 0, sizeof(error));
  error.qp_state = IBV_QPS_ERR;
  MUST(ibv_modify_qp(qp, &error, IBV_QP_STATE) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
