// Work posted to a dead QP (B36), a dereg with receives posted (B31), a QP destroyed between start_poll and end_poll (B42):
// the data path is not watched, and silence about it is the documented limit. The legal half must not be reported either.
// RUN: on=both options="strict=1" exit=0
// EXPECT-NOTHING
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq_init_attr_ex of;
  memset(&of, 0, sizeof(of));
  of.cqe = 4;
  struct ibv_cq_ex* extended = ibv_create_cq_ex(context, &of);
  MUST(extended != NULL);
  struct ibv_cq* cq = ibv_cq_ex_to_cq(extended);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);
  MUST(qp != NULL);
  struct ibv_wc done;
  MUST(ibv_poll_cq(cq, 1, &done) == 0);
  MUST(ibv_destroy_qp(qp) == 0);
  MUST(ibv_poll_cq(cq, 1, &done) == 0);
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}

// RDMA-CORE: 44: the soft device of 33 has no ibv_create_cq_ex
