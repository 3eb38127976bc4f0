// A group is joined through an id: librdmacm attaches the id's QP when the event is read, and detaches it at the leave. Left
// joined, the QP cannot go, and rdma_destroy_qp keeps that to itself (B26), as it does for the CQs and channels under it
// (four refusals with one cause: one finding), and rdma_destroy_id for the PD. That the id leaves a QP behind is then no news.
// RUN: on=device args="clean" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="clean ex" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="joined" exit=23
// EXPECT: ERROR mcast-attached: ibv_destroy_qp of qp #
// EXPECT: #{{\d}} main cm_multicast.c:@destroy@ (
//
// EXPECT-NOT: cm-qp-left
// EXPECT-ALSO: NOTE busy-destroy: ibv_destroy_cq of cq #
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: ERROR busy-destroy: ibv_destroy_cq of cq #
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: TOLD busy-destroy: 3 more not shown: ibv_destroy_cq at {{.*}}, 4 times in all, 4 objects
//
// RUN: on=device args="joined ex" exit=23
// EXPECT: ERROR mcast-attached: ibv_destroy_qp of qp #
// EXPECT: #{{\d}} main cm_multicast.c:@destroy@ (
// EXPECT-NOT: cm-qp-left
// EXPECT-ALSO: NOTE busy-destroy: ibv_destroy_cq of cq #
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: ERROR busy-destroy: ibv_destroy_cq of cq #
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: TOLD busy-destroy: 3 more not shown: ibv_destroy_cq at {{.*}}, 4 times in all, 4 objects
// LINK: rdmacm
#include "cm_scenario.h"

int main(int argc, char** argv) {
  MUST(argc >= 2);
  struct rdma_event_channel* channel = rdma_create_event_channel();
  struct rdma_cm_id* id = NULL;
  MUST(channel != NULL && rdma_create_id(channel, &id, NULL, RDMA_PS_UDP) == 0);
  struct sockaddr_in here = address("10.77.0.1", 0), group = address("239.1.2.3", 7471);
  MUST(rdma_bind_addr(id, (struct sockaddr*)&here) == 0);
  MUST(rdma_resolve_addr(id, (struct sockaddr*)&here, (struct sockaddr*)&group, 2000) == 0);
  MUST(rdma_ack_cm_event(await_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED)) == 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_UD, NULL, NULL);
  MUST(rdma_create_qp(id, NULL, &attr) == 0);
  if (argc == 3) {
    struct rdma_cm_join_mc_attr_ex join;
    memset(&join, 0, sizeof(join));
    join.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
    join.join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER;
    join.addr = (struct sockaddr*)&group;
    MUST(rdma_join_multicast_ex(id, &join, NULL) == 0);
  } else {
    MUST(rdma_join_multicast(id, (struct sockaddr*)&group, NULL) == 0);
  }
  MUST(rdma_ack_cm_event(await_event(channel, RDMA_CM_EVENT_MULTICAST_JOIN)) == 0);
  if (strcmp(argv[1], "clean") == 0) MUST(rdma_leave_multicast(id, (struct sockaddr*)&group) == 0);
  rdma_destroy_qp(id);  // @destroy
  MUST(rdma_destroy_id(id) == 0);
  rdma_destroy_event_channel(channel);
  return 0;
}
