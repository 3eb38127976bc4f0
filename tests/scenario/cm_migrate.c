// An id moves to another channel, and is then that one's: the old channel may go, the new one may not. Moved to NULL it
// has a channel of librdmacm's own.
// RUN: on=device args="clean" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="null" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="leak" exit=23
// EXPECT: ERROR cm-id-leak: rdma_destroy_event_channel while 1 id still uses it
// EXPECT: #0 main cm_migrate.c:@id@ (
// EXPECT: #0 main cm_migrate.c:@close@ (
// EXPECT-JSON: findings.length == 1
//
// Moved inside the handler of its own event: the call waits for the ack, here until another thread gives it.
// RUN: on=device args="own" exit=23
// EXPECT: ERROR self-deadlock: rdma_migrate_id of cm_id #{{\d+}} called inside the handler of its own event: the calling thread has not acknowledged 1 event (ADDR_RESOLVED)
// EXPECT-JSON: findings.length == 1
// LINK: rdmacm
#include "cm_scenario.h"

static void* ack(void* event) {
  await_report();
  MUST(rdma_ack_cm_event(event) == 0);
  return NULL;
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct rdma_event_channel* from = rdma_create_event_channel();
  struct rdma_event_channel* to = rdma_create_event_channel();
  struct rdma_cm_id* id = NULL;
  MUST(from != NULL && to != NULL && rdma_create_id(from, &id, NULL, RDMA_PS_TCP) == 0);  // @id
  struct sockaddr_in there = address("10.77.0.1", 7471);
  MUST(rdma_resolve_addr(id, NULL, (struct sockaddr*)&there, 2000) == 0);
  struct rdma_cm_event* event = await_event(from, RDMA_CM_EVENT_ADDR_RESOLVED);
  pthread_t acker;
  if (strcmp(argv[1], "own") == 0) {
    MUST(pthread_create(&acker, NULL, ack, event) == 0);
  } else {
    MUST(rdma_ack_cm_event(event) == 0);
  }
  MUST(rdma_migrate_id(id, strcmp(argv[1], "null") == 0 ? NULL : to) == 0);
  if (strcmp(argv[1], "own") == 0) pthread_join(acker, NULL);
  rdma_destroy_event_channel(from);
  if (strcmp(argv[1], "leak") == 0) {
    rdma_destroy_event_channel(to);  // @close
    return 0;
  }
  MUST(rdma_destroy_id(id) == 0);
  rdma_destroy_event_channel(to);
  return 0;
}
