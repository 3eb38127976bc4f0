// A destroy that nothing explains does not return (rdma-core #1470): watched where hang_timeout is given, and only there.
// RUN: on=fake options="hang_timeout=1" env="FAKE_DELAY=ibv_destroy_qp=2500" exit=0
// EXPECT: WARNING blocked-destroy: ibv_destroy_qp of qp #{{.*}} has not returned for {{1\.\d}} s: no unacknowledged event explains it
// EXPECT: #0 main destroy_stuck.c:@destroy@ (
//
// RUN: on=fake options="hang_timeout=1" env="FAKE_DELAY=ibv_dealloc_pd=2500" exit=0
// EXPECT: WARNING blocked-destroy: ibv_dealloc_pd of pd #
//
// RUN: on=fake options="hang_timeout=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake env="FAKE_DELAY=ibv_destroy_qp=1500" exit=0
// EXPECT-NOTHING
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_UD, cq, NULL);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);
  MUST(qp != NULL);
  MUST(ibv_destroy_qp(qp) == 0);  // @destroy
  MUST(ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}
