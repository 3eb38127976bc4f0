// librdmacm opens every device for its own life, and keeps a PD and a device list: not the program's (B52, B58, B84, T1).
// RUN: on=device options="strict=1" exit=0
// EXPECT-NOTHING
// EXPECT-JSON: findings.length == 0
//
// RUN: on=device options="verbosity=1" exit=0
// EXPECT: TOLD version
// EXPECT: TOLD not watched: post_send
// EXPECT: NOTE open-at-exit: held by a library for the life of the process: {{\d}} objects (
// EXPECT: holder context #
// EXPECT: TOLD hooked: {{\d+}} slots of contexts
// LINK: rdmacm
#include "cm_scenario.h"

int main(void) {
  int count = 0;
  struct ibv_context** devices = rdma_get_devices(&count);
  MUST(devices != NULL && count >= 1);
  rdma_free_devices(devices);
  struct rdma_event_channel* channel = rdma_create_event_channel();
  struct rdma_cm_id* id = NULL;
  MUST(channel != NULL && rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
  resolve(id, channel, "10.77.0.1");
  MUST(rdma_destroy_id(id) == 0);
  rdma_destroy_event_channel(channel);
  return 0;
}
