// A parent domain shares its PD's kernel handle and is released by ibv_dealloc_pd; forgotten, both it and the thread
// domain are reported (B17), and while it lives the PD and the TD are busy.
// RUN: on=fake args="release" options="strict=1" exit=0
// EXPECT: NOTE busy-destroy: ibv_dealloc_td of td #{{.*}} returned EBUSY: 1 qp, 1 parent_domain still use it
//
// RUN: on=fake args="forget" exit=23
// EXPECT: NOTE busy-destroy: ibv_dealloc_td of td #
// EXPECT: ERROR leak-at-close: ibv_close_device(fake0) leaves 3 objects alive: 1 pd, 1 td, 1 parent_domain
// EXPECT: #0 main parent_domain.c:@td@ (
// EXPECT: #0 main parent_domain.c:@parent@ (
// EXPECT: ERROR busy-destroy: ibv_dealloc_td of td #
#include "scenario.h"

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_td_init_attr nothing;
  memset(&nothing, 0, sizeof(nothing));
  struct ibv_td* td = ibv_alloc_td(context, &nothing);  // @td
  struct ibv_parent_domain_init_attr of;
  memset(&of, 0, sizeof(of));
  of.pd = pd;
  of.td = td;
  struct ibv_pd* parent = ibv_alloc_parent_domain(context, &of);  // @parent
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  struct ibv_qp* qp = ibv_create_qp(parent, &attr);
  MUST(td != NULL && parent != NULL && qp != NULL);
  MUST(ibv_dealloc_td(td) == EBUSY);
  MUST(ibv_destroy_qp(qp) == 0);
  MUST(ibv_destroy_cq(cq) == 0);
  if (strcmp(argv[1], "release") == 0) {
    MUST(ibv_dealloc_pd(parent) == 0);
    MUST(ibv_dealloc_td(td) == 0);
    MUST(ibv_dealloc_pd(pd) == 0);
  }
  MUST(ibv_close_device(context) == 0);
  return 0;
}
