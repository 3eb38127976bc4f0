// A PD, an MR and a QP are released after their context was closed: not forwarded (B41, B83, B78).
// RUN: on=both exit=23
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 4 objects alive
// EXPECT: ERROR use-after-close: ibv_destroy_qp of qp #{{\d+}}{{.*}}, whose context {{\w+}} was closed earlier; call not forwarded
// EXPECT: used here
// EXPECT: #0 main use_after_close.c:@late@ (
// EXPECT: created
// EXPECT: its context was closed
// EXPECT: #0 shut_down use_after_close.c:@close@ (
// EXPECT: ERROR use-after-close: ibv_dereg_mr of mr #
// EXPECT: ERROR use-after-close: ibv_dealloc_pd of pd #
// EXPECT-JSON: findings[rule=use-after-close].stacks[role=closed].frames[0].function == shut_down
#include "scenario.h"

static __attribute__((noinline)) void shut_down(struct ibv_context* context) {
  MUST(ibv_close_device(context) == 0);  // @close
}

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  static char buffer[64];
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);
  MUST(mr != NULL && qp != NULL);
  shut_down(context);
  MUST(ibv_destroy_qp(qp) == EINVAL);  // @late
  MUST(ibv_dereg_mr(mr) == EINVAL);
  MUST(ibv_dealloc_pd(pd) == EINVAL);
  return 0;
}
