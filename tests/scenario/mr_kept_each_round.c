// Each try makes and destroys a QP and keeps the MR: QP 1-0-1-0, MR only grows (B14, B15).
// RUN: on=both exit=23
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 101 objects alive: 100 mr, 1 pd
// EXPECT: 100 mr, the first #{{.*}} 400 KiB together
// EXPECT: #0 main mr_kept_each_round.c:@mr@ (
// EXPECT-JSON: summary.kinds.qp.created == 100
// EXPECT-JSON: summary.kinds.qp.alive == 0
// EXPECT-JSON: summary.growth[kind=mr].alive == 100
// EXPECT-JSON: alive[kind=mr].bytes == 409600
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  for (int i = 0; i < 100; ++i) {
    struct ibv_qp* qp = ibv_create_qp(pd, &attr);
    MUST(qp != NULL);
    char* chunk = (char*)malloc(4096);
    struct ibv_mr* mr = ibv_reg_mr(pd, chunk, 4096, IBV_ACCESS_LOCAL_WRITE);  // @mr
    MUST(mr != NULL);
    MUST(ibv_destroy_qp(qp) == 0);
  }
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
