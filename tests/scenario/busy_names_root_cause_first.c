// A CQ is held by a QP that is held by a flow: the flow stands first, for it must go first.
// RUN: on=fake exit=0
// EXPECT: NOTE busy-destroy: ibv_destroy_cq of cq #{{.*}} returned EBUSY: 1 flow, 1 qp still use it
// EXPECT: child flow #
// EXPECT: child qp #
// EXPECT-JSON: findings[0].related[0].object.kind == flow
// EXPECT-JSON: findings[0].related[1].object.kind == qp
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RAW_PACKET, cq, NULL);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);
  struct ibv_flow_attr rules;
  memset(&rules, 0, sizeof(rules));
  rules.size = sizeof(rules);
  rules.port = 1;
  struct ibv_flow* flow = ibv_create_flow(qp, &rules);
  MUST(flow != NULL);
  MUST(ibv_destroy_cq(cq) == EBUSY);
  MUST(ibv_destroy_flow(flow) == 0);
  MUST(ibv_destroy_qp(qp) == 0);
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
