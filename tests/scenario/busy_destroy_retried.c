// A destroy is refused, its cause removed, and tried again: a note with the children, and the status stays (B19, B39, T4).
// RUN: on=both exit=0
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY: 1 mr, 1 qp still use it
// EXPECT: child mr #{{\d+}} on {{\w+}}: lkey=
// EXPECT: child qp #{{\d+}} on {{\w+}}: qpn={{.*}} at main busy_destroy_retried.c:@qp@
// EXPECT: called here
// EXPECT: #0 main busy_destroy_retried.c:@refused@ (
// EXPECT: created
// EXPECT: #0 main busy_destroy_retried.c:@pd@ (
// EXPECT-JSON: findings[0].severity == note
// EXPECT-JSON: findings[0].result == 16
// EXPECT-JSON: summary.errors == 0
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);  // @pd
  static char buffer[64];
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);  // @qp
  MUST(mr != NULL && qp != NULL);
  MUST(ibv_dealloc_pd(pd) == EBUSY);  // @refused
  MUST(ibv_destroy_qp(qp) == 0);
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_dereg_mr(mr) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
