// CQ, QP and PD torn down in the wrong order by destructors; every result is ignored (B23, B25, B63): each refused object
// once, with the child that held it, and all of them at the close.
// RUN: on=both exit=23
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #{{.*}}: 1 qp still uses it
// EXPECT: NOTE busy-destroy: ibv_destroy_cq of cq #{{.*}}: 1 qp still uses it
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 2 objects alive: 1 pd, 1 cq
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: ERROR busy-destroy: ibv_destroy_cq of cq #
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);
  MUST(qp != NULL);
  (void)ibv_dealloc_pd(pd);
  (void)ibv_destroy_cq(cq);
  (void)ibv_destroy_qp(qp);
  (void)ibv_close_device(context);
  return 0;
}
