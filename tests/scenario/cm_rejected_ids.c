// A hundred connections are refused, their events acked and their ids kept (B07): one group of a hundred, however the
// program ends.
// RUN: on=device args="kept" exit=0
// EXPECT: WARNING cm-channel-leak:
// EXPECT: WARNING open-at-exit: 100 objects are still open when the process ends: 100 cm_id
// EXPECT: 100 cm_id
// EXPECT: #0 call cm_rejected_ids.c:@id@ (
// EXPECT-JSON: findings[rule=open-at-exit].count == 100
//
// RUN: on=device args="channel" exit=23
// EXPECT: ERROR cm-id-leak: rdma_destroy_event_channel while 100 ids still use it
// EXPECT: 100 cm_id
// EXPECT: #0 call cm_rejected_ids.c:@id@ (
// EXPECT-JSON: findings.length == 1
// EXPECT-JSON: findings[0].count == 100
//
// RUN: on=device args="clean" options="strict=1" exit=0
// EXPECT-NOTHING
// LINK: rdmacm
#include "cm_scenario.h"

static struct rdma_event_channel* channel;

__attribute__((noinline)) static void call(int release) {
  struct rdma_cm_id* id = NULL;
  MUST(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);  // @id
  resolve(id, channel, "10.77.0.1");
  MUST(rdma_resolve_route(id, 2000) == 0);
  MUST(rdma_ack_cm_event(await_event(channel, RDMA_CM_EVENT_ROUTE_RESOLVED)) == 0);
  struct rdma_conn_param with;
  memset(&with, 0, sizeof(with));
  with.qp_num = 17;
  MUST(rdma_connect(id, &with) == 0);  // nobody listens there
  MUST(rdma_ack_cm_event(await_event(channel, RDMA_CM_EVENT_REJECTED)) == 0);
  if (release) MUST(rdma_destroy_id(id) == 0);
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  channel = rdma_create_event_channel();
  MUST(channel != NULL);
  for (int i = 0; i < 100; ++i) call(strcmp(argv[1], "clean") == 0);
  if (strcmp(argv[1], "kept") != 0) rdma_destroy_event_channel(channel);
  return 0;
}
