// The device is closed while a queue pair and all it needs live: each under the line that made it.
// RUN: on=both exit=23
// EXPECT: ERROR leak-at-close: ibv_close_device({{fake0|rxe0}}) leaves 3 objects alive: 1 pd, 1 cq, 1 qp
// EXPECT: 1 pd
// EXPECT: #0 main leak_qp.c:@pd@ (
// EXPECT: 1 cq
// EXPECT: #0 main leak_qp.c:@cq@ (
// EXPECT: 1 qp
// EXPECT: #0 make_qp leak_qp.c:@qp@ (
// EXPECT: #1 main leak_qp.c:
// EXPECT: closed by thread
// EXPECT: #0 main leak_qp.c:@close@ (
// EXPECT: SUMMARY: rdmacheck: 3 errors (leak-at-close 3)
// EXPECT-JSON: process.exit_status == 23
// EXPECT-JSON: summary.errors == 3
// EXPECT-JSON: summary.kinds.qp.alive == 1
// EXPECT-JSON: findings[object.kind=qp].stacks[0].frames[0].function == make_qp
// EXPECT-JSON: findings[object.kind=qp].related[0].object.kind == context
// SAME-OUTPUT
#include "scenario.h"

static __attribute__((noinline)) struct ibv_qp* make_qp(struct ibv_pd* pd, struct ibv_cq* cq) {
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);  // @qp
  MUST(qp != NULL);
  return qp;
}

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);  // @pd
  struct ibv_cq* cq = ibv_create_cq(context, 16, NULL, NULL, 0);  // @cq
  MUST(pd != NULL && cq != NULL);
  MUST(make_qp(pd, cq)->qp_num != 0);
  MUST(ibv_close_device(context) == 0);  // @close
  puts("closed");
  return 0;
}
