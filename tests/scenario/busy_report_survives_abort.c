// The program aborts because a destroy was refused: the children have been told at the call (B25).
// RUN: on=both exit=SIGABRT
// EXPECT: NOTE busy-destroy: ibv_destroy_cq of cq #{{.*}} returned EBUSY: 1 qp still use
// EXPECT: child qp #
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  MUST(ibv_create_qp(pd, &attr) != NULL);
  if (ibv_destroy_cq(cq) != 0) abort();
  return 0;
}
