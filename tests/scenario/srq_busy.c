// An SRQ is destroyed while a QP uses it (B27, B64): the QP is named; ignored, it is an error at exit.
// RUN: on=both args="retry" exit=0
// EXPECT: NOTE busy-destroy: ibv_destroy_srq of srq #{{.*}} returned EBUSY: 1 qp still uses it
// EXPECT: child qp #
//
// RUN: on=both args="ignore" exit=23
// EXPECT: NOTE busy-destroy: ibv_destroy_srq of srq #
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 2 objects alive: 1 pd, 1 srq
// EXPECT: last failed call: ibv_destroy_srq returned EBUSY
// EXPECT: destroy refused and never retried
// EXPECT: ERROR busy-destroy: ibv_destroy_srq of srq #{{.*}} returned EBUSY and no later try succeeded
#include "scenario.h"

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_srq_init_attr shared = srq_attr();
  struct ibv_srq* srq = ibv_create_srq(pd, &shared);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, srq);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);
  MUST(qp != NULL);
  MUST(ibv_destroy_srq(srq) == EBUSY);
  MUST(ibv_destroy_qp(qp) == 0);
  if (strcmp(argv[1], "retry") == 0) {
    MUST(ibv_destroy_srq(srq) == 0);
    MUST(ibv_dealloc_pd(pd) == 0);
  }
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
