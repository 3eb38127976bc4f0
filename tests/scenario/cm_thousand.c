// A thousand connections come up and go, and what a snapshot counts is what the kernel counts, with half of them up, with
// all of them up and with all of them gone.
// RUN: on=device args="clean" options="strict=1" timeout=240 exit=0
// EXPECT-NOTHING
// EXPECT-OUT: 500 connections: 1001 ids
// EXPECT-OUT: 1000 connections: 2001 ids
// EXPECT-OUT: 0 connections: 1 ids
// EXPECT-JSON: summary.kinds.cm_id.created == 2001
//
// RUN: on=device args="left" timeout=240 exit=23
// EXPECT: ERROR cm-id-leak: rdma_destroy_event_channel while 10 ids still use it
// EXPECT: {{9|10}} cm_id
// EXPECT: #{{[01]}} take_up cm_thousand.c:@passive@ (
// LINK: rdmacm
#include "../../interpose/include/rdmacheck/rdmacheck.h"
#include "cm_scenario.h"

enum { kConnections = 1000 };
static struct rdma_event_channel *listening, *calling;
static struct rdma_cm_id *active[kConnections], *passive[kConnections];
static struct ibv_cq* cq;

__attribute__((noinline)) static void take_up(int i) {
  MUST(rdma_create_id(calling, &active[i], NULL, RDMA_PS_TCP) == 0);
  resolve(active[i], calling, "10.77.0.1");
  MUST(rdma_resolve_route(active[i], 2000) == 0);
  MUST(rdma_ack_cm_event(await_event(calling, RDMA_CM_EVENT_ROUTE_RESOLVED)) == 0);
  if (cq == NULL) cq = ibv_create_cq(active[i]->verbs, 16, NULL, NULL, 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  MUST(rdma_create_qp(active[i], NULL, &attr) == 0);
  struct rdma_conn_param with;
  memset(&with, 0, sizeof(with));
  with.retry_count = 7;
  MUST(rdma_connect(active[i], &with) == 0);
  struct rdma_cm_event* event = await_event(listening, RDMA_CM_EVENT_CONNECT_REQUEST);  // @passive
  passive[i] = event->id;
  MUST(rdma_ack_cm_event(event) == 0);
  attr = qp_attr(IBV_QPT_RC, cq, NULL);
  MUST(rdma_create_qp(passive[i], NULL, &attr) == 0);
  MUST(rdma_accept(passive[i], &with) == 0);
  MUST(rdma_ack_cm_event(await_event(calling, RDMA_CM_EVENT_ESTABLISHED)) == 0);
  MUST(rdma_ack_cm_event(await_event(listening, RDMA_CM_EVENT_ESTABLISHED)) == 0);
}

static void take_down(int i, int keep) {
  MUST(rdma_disconnect(active[i]) == 0);
  MUST(rdma_ack_cm_event(await_event(listening, RDMA_CM_EVENT_DISCONNECTED)) == 0);
  MUST(rdma_disconnect(passive[i]) == 0);  // only now does the other side hear of it
  MUST(rdma_ack_cm_event(await_event(calling, RDMA_CM_EVENT_DISCONNECTED)) == 0);
  rdma_destroy_qp(active[i]);
  rdma_destroy_qp(passive[i]);
  MUST(rdma_destroy_id(active[i]) == 0);
  if (!keep) MUST(rdma_destroy_id(passive[i]) == 0);
}

// How many lines of the kernel's list are of this process.
static int ids_of_kernel(void) {
  char line[1024], own[32];
  int count = 0;
  snprintf(own, sizeof(own), " pid %d ", getpid());
  FILE* list = popen("rdma resource show cm_id", "r");
  MUST(list != NULL);
  while (fgets(line, sizeof(line), list) != NULL) count += strstr(line, own) != NULL;
  MUST(pclose(list) == 0);
  return count;
}

static int ids_of_snapshot(void) {
  static char text[4 << 20];
  MUST(rdmacheck_snapshot("snapshot") == 0);
  FILE* file = fopen("snapshot", "r");
  MUST(file != NULL);
  text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
  fclose(file);
  const char* at = strstr(text, "\"kinds\"");
  int alive = -1;
  MUST(at != NULL && (at = strstr(at, "\"cm_id\"")) != NULL && (at = strstr(at, "\"alive\"")) != NULL);
  MUST(sscanf(at + 7, " : %d", &alive) == 1);
  return alive;
}

static void compare(int connections) {
  const int known = ids_of_snapshot(), there = ids_of_kernel();
  if (known != there) fprintf(stderr, "%d connections: %d ids in the snapshot, %d in the kernel\n", connections, known, there);
  MUST(known == there && known == 2 * connections + 1);
  printf("%d connections: %d ids\n", connections, known);
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  const int left = strcmp(argv[1], "left") == 0, count = left ? 10 : kConnections;
  listening = rdma_create_event_channel();
  calling = rdma_create_event_channel();
  struct rdma_cm_id* listener = NULL;
  MUST(rdma_create_id(listening, &listener, NULL, RDMA_PS_TCP) == 0);
  struct sockaddr_in here = address("10.77.0.1", 7471);
  MUST(rdma_bind_addr(listener, (struct sockaddr*)&here) == 0 && rdma_listen(listener, 8) == 0);
  for (int i = 0; i < count; ++i) {
    take_up(i);
    if (2 * (i + 1) == count) compare(i + 1);
  }
  compare(count);
  for (int i = 0; i < count; ++i) take_down(i, left);
  if (!left) compare(0);
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(rdma_destroy_id(listener) == 0);
  rdma_destroy_event_channel(listening);
  rdma_destroy_event_channel(calling);
  return 0;
}
