// A driver without counts lets a parent go before its child; our model says it, although the result is 0 (B28, T22).
// RUN: on=fake args="srq" env="FAKE_LAX=1" exit=23
// EXPECT: ERROR destroyed-before-child: srq #{{.*}} destroyed while 1 qp still uses it; this driver allows it, ibv_destroy_srq(3) does not
// EXPECT: child qp #
// EXPECT: #0 main destroyed_before_child.c:@srq@ (
// EXPECT-JSON: findings[0].related[0].role == child
//
// RUN: on=fake args="pd" env="FAKE_LAX=1" exit=23
// EXPECT: ERROR destroyed-before-child: pd #{{.*}} destroyed while 1 ah still uses it
// EXPECT: child ah #
//
// RUN: on=fake args="none" env="FAKE_LAX=1" exit=0
// EXPECT-NOTHING
#include "scenario.h"

int main(int argc, char** argv) {
  MUST(argc == 2);
  const int srq_first = strcmp(argv[1], "srq") == 0, pd_first = strcmp(argv[1], "pd") == 0;
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_srq_init_attr shared = srq_attr();
  struct ibv_srq* srq = ibv_create_srq(pd, &shared);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, srq);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);
  struct ibv_ah_attr where = ah_attr(context);
  struct ibv_ah* ah = ibv_create_ah(pd, &where);
  MUST(qp != NULL && ah != NULL);
  if (srq_first) MUST(ibv_destroy_srq(srq) == 0);  // @srq
  MUST(ibv_destroy_qp(qp) == 0);
  if (!srq_first) MUST(ibv_destroy_srq(srq) == 0);
  if (pd_first) MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_destroy_ah(ah) == 0);
  if (!pd_first) MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
