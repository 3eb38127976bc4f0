// A create fails for want of resources: what this process holds is reported, once a minute, and it is a note (B10, B90, B91).
// RUN: on=fake args="full" env="FAKE_FAIL=ibv_create_qp@301=ENOMEM:*" exit=0
// EXPECT: NOTE create-failed: ibv_create_qp failed with ENOMEM; this process holds 300 qp of 300 created
// EXPECT: this process holds
// EXPECT: 300 qp, created at main create_failed.c:@qp@
// EXPECT-JSON: findings.length == 1
// EXPECT-JSON: findings[0].groups[0].kind == qp
// EXPECT-JSON: findings[0].groups[0].count == 300
//
// RUN: on=fake args="full" env="FAKE_FAIL=ibv_create_qp@1=EAGAIN:*" exit=0
// EXPECT: NOTE create-failed: ibv_create_qp failed with EAGAIN; this process holds 0 qp of 0 created
// EXPECT: this process holds few; another process probably exhausted them
//
// RUN: on=fake args="full" env="FAKE_FAIL=ibv_create_qp@301=EINVAL:*" exit=0
// EXPECT-NOTHING
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  struct ibv_qp* qps[400];
  int made = 0;
  for (; made < 400; ++made) {
    qps[made] = ibv_create_qp(pd, &attr);  // @qp
    if (qps[made] == NULL) break;
  }
  MUST(made < 400);
  MUST(ibv_create_qp(pd, &attr) == NULL);
  while (made > 0) MUST(ibv_destroy_qp(qps[--made]) == 0);
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
