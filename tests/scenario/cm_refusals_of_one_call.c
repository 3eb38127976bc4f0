// The program's own QP uses the CQs that librdmacm made for an id: one rdma_destroy_qp is refused both CQs and both of
// their channels, and librdmacm ignores it. One cause, one note; what is left of it at the end is one error.
// RUN: on=device args="left" exit=23
// EXPECT: NOTE busy-destroy: ibv_destroy_cq of cq #{{.*}} returned EBUSY: 1 qp still uses it
// EXPECT: rdma_destroy_qp
// EXPECT: ERROR busy-destroy: ibv_destroy_cq of cq #{{.*}} returned EBUSY and no later try succeeded before the process ended
// EXPECT: TOLD busy-destroy: 3 more not shown: ibv_destroy_cq at {{.*}}, 4 times in all, 4 objects
// EXPECT: SUMMARY: rdmacheck: 1 error (busy-destroy 1 seen 4 times)
// EXPECT-JSON: summary.errors == 1
// EXPECT-JSON: summary.notes == 0
// EXPECT-JSON: findings[rule=busy-destroy].objects == 4
//
// RUN: on=device args="clean" options="strict=1" exit=0
// EXPECT-NOTHING
// LINK: rdmacm
#include "cm_scenario.h"

int main(int argc, char** argv) {
  MUST(argc == 2);
  const int clean = strcmp(argv[1], "clean") == 0;
  struct rdma_event_channel* channel = rdma_create_event_channel();
  struct rdma_cm_id* id = NULL;
  MUST(channel != NULL && rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
  resolve(id, channel, "10.77.0.1");
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, NULL, NULL);
  MUST(rdma_create_qp(id, NULL, &attr) == 0);
  struct ibv_qp_init_attr own = qp_attr(IBV_QPT_RC, id->send_cq, NULL);
  own.recv_cq = id->recv_cq;
  struct ibv_qp* qp = ibv_create_qp(id->pd, &own);
  MUST(qp != NULL);
  if (clean) MUST(ibv_destroy_qp(qp) == 0);
  rdma_destroy_qp(id);
  if (!clean) MUST(ibv_destroy_qp(qp) == 0);
  MUST(rdma_destroy_id(id) == 0);
  rdma_destroy_event_channel(channel);
  return 0;
}
