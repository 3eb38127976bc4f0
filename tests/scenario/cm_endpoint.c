// The life of an rdma_create_ep pair: a listening endpoint, the id of rdma_get_request, and the calling endpoint, each with the QP,
// CQs and channels that librdmacm makes for it. They are the id's: shown under it, and gone with rdma_destroy_ep.
// RUN: on=device args="clean" options="strict=1" exit=0
// EXPECT-NOTHING
// EXPECT-JSON: summary.kinds.cm_id.created == 3
//
// RUN: on=device args="ep" exit=0
// EXPECT: WARNING open-at-exit: {{.*}} 1 cm_id
// EXPECT: 1 cm_id #
// EXPECT: #{{\d}} main cm_endpoint.c:@ep@ (
// EXPECT-JSON: findings[0].object.kind == cm_id
//
// RUN: on=device args="request" exit=0
// EXPECT: WARNING open-at-exit: {{.*}} 1 cm_id
// EXPECT: 1 cm_id #
// EXPECT: #{{\d}} serve cm_endpoint.c:@request@ (
//
// RUN: on=device args="listener" exit=0
// EXPECT: WARNING open-at-exit: {{.*}} 1 cm_id
// EXPECT: #{{\d}} main cm_endpoint.c:@listener@ (
//
// An address list is memory and nothing else: counted, and left to leak checkers of memory.
// RUN: on=device args="addrinfo" options="strict=1" exit=0
// EXPECT-NOTHING
// EXPECT-JSON: summary.kinds.cm_addrinfo.alive == 1
//
// The endpoint is destroyed as if it were a bare id.
// RUN: on=device args="bare" exit=23
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: ERROR cm-qp-left: rdma_destroy_id of cm_id #{{\d+}} while its qp #
// EXPECT: child qp #
// EXPECT: #0 main cm_endpoint.c:@bare@ (
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #{{.*}} and no later try succeeded before the process ended
// LINK: rdmacm
#include "cm_scenario.h"

static struct rdma_cm_id* listener;
static const char* how;

static int is(const char* name) { return strcmp(how, name) == 0; }

static void* serve(void* unused) {
  struct rdma_cm_id* id = NULL;
  MUST(rdma_get_request(listener, &id) == 0);  // @request
  MUST(rdma_accept(id, NULL) == 0);
  MUST(rdma_disconnect(id) == 0);
  if (!is("request")) rdma_destroy_ep(id);
  return unused;
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  how = argv[1];
  struct rdma_addrinfo hints, *to = NULL;
  memset(&hints, 0, sizeof(hints));
  hints.ai_port_space = RDMA_PS_TCP;
  hints.ai_flags = RAI_PASSIVE;
  MUST(rdma_getaddrinfo("10.77.0.1", "7472", &hints, &to) == 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, NULL, NULL);
  MUST(rdma_create_ep(&listener, to, NULL, &attr) == 0);  // @listener
  rdma_freeaddrinfo(to);
  MUST(rdma_listen(listener, 1) == 0);
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, serve, NULL) == 0);

  hints.ai_flags = 0;
  MUST(rdma_getaddrinfo("10.77.0.1", "7472", &hints, &to) == 0);
  attr = qp_attr(IBV_QPT_RC, NULL, NULL);
  struct rdma_cm_id* id = NULL;
  MUST(rdma_create_ep(&id, to, NULL, &attr) == 0);  // @ep
  if (!is("addrinfo")) rdma_freeaddrinfo(to);
  MUST(id->qp != NULL && rdma_connect(id, NULL) == 0);
  MUST(rdma_disconnect(id) == 0);
  pthread_join(thread, NULL);
  if (is("bare")) {
    MUST(rdma_destroy_id(id) == 0);  // @bare
  } else if (!is("ep")) {
    rdma_destroy_ep(id);
  }
  if (!is("listener")) rdma_destroy_ep(listener);
  return 0;
}
