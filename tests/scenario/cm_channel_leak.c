// A domain's event channel is forgotten, its ids are not (B06, B61): a warning; with strict an error.
// RUN: on=device args="channel" exit=0
// EXPECT: WARNING cm-channel-leak:
// EXPECT: #0 main cm_channel_leak.c:@channel@ (
// EXPECT-JSON: findings[0].object.kind == cm_channel
//
// RUN: on=device args="channel" options="strict=1" exit=23
// EXPECT: ERROR cm-channel-leak:
//
// RUN: on=device args="clean" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="channel" options="track_rdmacm=0 strict=1" exit=0
// EXPECT-NOTHING
// LINK: rdmacm
#include "cm_scenario.h"

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct rdma_event_channel* channel = rdma_create_event_channel();  // @channel
  struct rdma_cm_id* id = NULL;
  MUST(channel != NULL && rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
  MUST(rdma_destroy_id(id) == 0);
  if (strcmp(argv[1], "clean") == 0) rdma_destroy_event_channel(channel);
  return 0;
}
