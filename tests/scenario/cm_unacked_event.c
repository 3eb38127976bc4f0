// An error event of an id is not acked and its taker is gone: rdma_destroy_id would wait forever (B46, B48).
// RUN: on=device args="gone" exit=23
// EXPECT: ERROR cm-unacked-event: rdma_destroy_id of cm_id #{{\d+}} will block forever: 1 event (REJECTED) not acknowledged, and the thread that received it has exited
// EXPECT: REJECTED came with status
// EXPECT: #{{\d}} take cm_unacked_event.c:
//
// RUN: on=device args="own" exit=23
// EXPECT: ERROR self-deadlock: rdma_destroy_id of cm_id #{{\d+}} called inside the handler of its own event: the calling thread has not acknowledged 1 event (REJECTED)
//
// The same, and another thread acks once it has been said: the call returns, and the process ends by itself.
// RUN: on=device args="late" exit=23
// EXPECT: ERROR self-deadlock: rdma_destroy_id of cm_id #{{\d+}} called inside the handler of its own event: the calling thread has not acknowledged 1 event (REJECTED)
// EXPECT-JSON: findings.length == 1
// EXPECT-JSON: summary.kinds.cm_id.alive == 0
//
// RUN: on=device args="channel" exit=23
// EXPECT: ERROR cm-unacked-event: rdma_destroy_event_channel with 1 event not acknowledged: it does not wait, and the event and its id are lost
// EXPECT: ERROR cm-id-leak
//
// RUN: on=device args="acked" options="strict=1" exit=0
// EXPECT-NOTHING
// LINK: rdmacm
#include "cm_scenario.h"

static struct rdma_event_channel* channel;
static struct rdma_cm_id* id;
static struct rdma_cm_event* taken;
static const char* how;

static void* destroy(void* unused) {
  rdma_destroy_qp(id);
  rdma_destroy_id(id);
  return unused;
}

static void* take(void* unused) {
  struct rdma_cm_event* event = await_event(channel, RDMA_CM_EVENT_REJECTED);
  if (strcmp(how, "acked") == 0) MUST(rdma_ack_cm_event(event) == 0);
  taken = event;
  if (strcmp(how, "own") == 0 || strcmp(how, "late") == 0) destroy(NULL);
  return unused;
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  how = argv[1];
  channel = rdma_create_event_channel();
  MUST(channel != NULL && rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
  resolve(id, channel, "10.77.0.1");
  MUST(rdma_resolve_route(id, 2000) == 0);
  MUST(rdma_ack_cm_event(await_event(channel, RDMA_CM_EVENT_ROUTE_RESOLVED)) == 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, NULL, NULL);
  MUST(rdma_create_qp(id, NULL, &attr) == 0);
  struct rdma_conn_param with;
  memset(&with, 0, sizeof(with));
  MUST(rdma_connect(id, &with) == 0);  // nobody listens there
  pthread_t taker, destroyer;
  MUST(pthread_create(&taker, NULL, take, NULL) == 0);
  if (strcmp(how, "own") == 0) {
    await_report();
    _exit(23);
  }
  if (strcmp(how, "late") == 0) {
    await_report();
    MUST(rdma_ack_cm_event(taken) == 0);
    pthread_join(taker, NULL);
    rdma_destroy_event_channel(channel);
    return 0;
  }
  pthread_join(taker, NULL);
  if (strcmp(how, "channel") == 0) {
    rdma_destroy_event_channel(channel);
    return 0;
  }
  MUST(pthread_create(&destroyer, NULL, destroy, NULL) == 0);
  if (strcmp(how, "gone") == 0) {
    await_report();
    _exit(23);
  }
  pthread_join(destroyer, NULL);
  rdma_destroy_event_channel(channel);
  return 0;
}
