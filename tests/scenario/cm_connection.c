// A connection inside one process: the id of a CONNECT_REQUEST comes from an event, moves to another channel, is
// disconnected and released by both sides (T2); or the passive side forgets its id and its QP (B56).
// RUN: on=device args="clean" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="forget" exit=23
// EXPECT: ERROR cm-id-leak: rdma_destroy_event_channel while 1 id still uses it
// EXPECT: 1 cm_id #
// LINK: rdmacm
#include "cm_scenario.h"

static struct rdma_event_channel *listening, *calling;
static const char* how;

static void* serve(void* unused) {
  struct rdma_cm_event* event = await_event(listening, RDMA_CM_EVENT_CONNECT_REQUEST);
  struct rdma_cm_id* id = event->id;
  MUST(rdma_ack_cm_event(event) == 0);
  struct rdma_event_channel* own = rdma_create_event_channel();
  MUST(own != NULL && rdma_migrate_id(id, own) == 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, NULL, NULL);
  MUST(rdma_create_qp(id, NULL, &attr) == 0);
  MUST(rdma_accept(id, NULL) == 0);
  MUST(rdma_ack_cm_event(await_event(own, RDMA_CM_EVENT_ESTABLISHED)) == 0);
  MUST(rdma_ack_cm_event(await_event(own, RDMA_CM_EVENT_DISCONNECTED)) == 0);
  MUST(rdma_disconnect(id) == 0);
  if (strcmp(how, "forget") != 0) {
    rdma_destroy_qp(id);
    MUST(rdma_destroy_id(id) == 0);
  }
  rdma_destroy_event_channel(own);
  return unused;
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  how = argv[1];
  listening = rdma_create_event_channel();
  calling = rdma_create_event_channel();
  struct rdma_cm_id *listener = NULL, *id = NULL;
  MUST(rdma_create_id(listening, &listener, NULL, RDMA_PS_TCP) == 0);
  struct sockaddr_in here = address("10.77.0.1", 7471);
  MUST(rdma_bind_addr(listener, (struct sockaddr*)&here) == 0 && rdma_listen(listener, 1) == 0);
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, serve, NULL) == 0);
  MUST(rdma_create_id(calling, &id, NULL, RDMA_PS_TCP) == 0);
  resolve(id, calling, "10.77.0.1");
  MUST(rdma_resolve_route(id, 2000) == 0);
  MUST(rdma_ack_cm_event(await_event(calling, RDMA_CM_EVENT_ROUTE_RESOLVED)) == 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, NULL, NULL);
  MUST(rdma_create_qp(id, NULL, &attr) == 0);
  struct rdma_conn_param with;
  memset(&with, 0, sizeof(with));
  with.retry_count = 7;
  MUST(rdma_connect(id, &with) == 0);
  MUST(rdma_ack_cm_event(await_event(calling, RDMA_CM_EVENT_ESTABLISHED)) == 0);
  MUST(rdma_disconnect(id) == 0);
  MUST(rdma_ack_cm_event(await_event(calling, RDMA_CM_EVENT_DISCONNECTED)) == 0);
  pthread_join(thread, NULL);
  rdma_destroy_qp(id);
  MUST(rdma_destroy_id(id) == 0);
  MUST(rdma_destroy_id(listener) == 0);
  rdma_destroy_event_channel(calling);
  rdma_destroy_event_channel(listening);
  return 0;
}
