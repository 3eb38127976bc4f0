// An address that nobody has: ADDR_ERROR, taken by a thread that goes without acking it (B46).
// RUN: on=device args="unacked" exit=23
// EXPECT: ERROR cm-unacked-event: rdma_destroy_id of cm_id #{{\d+}} will block forever: 1 event (ADDR_ERROR) not acknowledged, and the thread that received it has exited
// EXPECT: ADDR_ERROR came with status -E{{[A-Z]+}}
// EXPECT: #{{\d}} take cm_addr_error.c:
//
// RUN: on=device args="acked" options="strict=1" exit=0
// EXPECT-NOTHING
// LINK: rdmacm
#include "cm_scenario.h"

static struct rdma_event_channel* channel;
static struct rdma_cm_id* id;
static const char* how;

static void* take(void* unused) {
  struct rdma_cm_event* event = await_event(channel, RDMA_CM_EVENT_ADDR_ERROR);
  if (strcmp(how, "acked") == 0) MUST(rdma_ack_cm_event(event) == 0);
  return unused;
}

static void* destroy(void* unused) {
  rdma_destroy_id(id);
  return unused;
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  how = argv[1];
  channel = rdma_create_event_channel();
  MUST(channel != NULL && rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
  // The guest's interface asks nobody for addresses, and so has them all, until it is told to.
  MUST(system("ip link set dev dummy0 arp on && ip neigh flush dev dummy0") == 0);
  struct sockaddr_in nobody = address("10.77.0.99", 7471);
  MUST(rdma_resolve_addr(id, NULL, (struct sockaddr*)&nobody, 100) == 0);
  pthread_t taker, destroyer;
  MUST(pthread_create(&taker, NULL, take, NULL) == 0);
  pthread_join(taker, NULL);
  MUST(system("ip link set dev dummy0 arp off") == 0);
  MUST(pthread_create(&destroyer, NULL, destroy, NULL) == 0);
  if (strcmp(how, "unacked") == 0) {
    await_report();
    _exit(23);
  }
  pthread_join(destroyer, NULL);
  rdma_destroy_event_channel(channel);
  return 0;
}
