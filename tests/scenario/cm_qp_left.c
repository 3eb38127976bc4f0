// An id is destroyed and its QP is not: it can no longer be reached (B12).
// RUN: on=device args="left" exit=23
// EXPECT: ERROR cm-qp-left: rdma_destroy_id of cm_id #{{\d+}} while its qp #
// EXPECT: child qp #
// EXPECT: #0 main cm_qp_left.c:@destroy@ (
// EXPECT-ALSO: WARNING open-at-exit
//
// The QP is destroyed by its own verb, before or after the id: legal (T20).
// RUN: on=device args="before" options="strict=1" exit=0
// EXPECT-NOTHING
// RUN: on=device args="after" options="strict=1" exit=0
// EXPECT-NOTHING
// LINK: rdmacm
#include "cm_scenario.h"

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct rdma_event_channel* channel = rdma_create_event_channel();
  struct rdma_cm_id* id = NULL;
  MUST(channel != NULL && rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
  resolve(id, channel, "10.77.0.1");
  struct ibv_pd* pd = ibv_alloc_pd(id->verbs);
  struct ibv_cq* cq = ibv_create_cq(id->verbs, 4, NULL, NULL, 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  MUST(rdma_create_qp(id, pd, &attr) == 0);
  struct ibv_qp* qp = id->qp;
  if (strcmp(argv[1], "before") == 0) {
    MUST(ibv_destroy_qp(qp) == 0);
    id->qp = NULL;
  }
  MUST(rdma_destroy_id(id) == 0);  // @destroy
  if (strcmp(argv[1], "after") == 0) MUST(ibv_destroy_qp(qp) == 0);
  if (strcmp(argv[1], "left") != 0) {
    MUST(ibv_destroy_cq(cq) == 0);
    MUST(ibv_dealloc_pd(pd) == 0);
  }
  rdma_destroy_event_channel(channel);
  return 0;
}
