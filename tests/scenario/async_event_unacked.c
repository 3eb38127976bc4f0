// A QP's asynchronous event is not acked when the QP is destroyed, by the thread that holds it, or by another after that.
// RUN: on=fake args="own" exit=23
// EXPECT: ERROR self-deadlock: ibv_destroy_qp of qp #{{.*}} will block forever: 1 asynchronous event received, 0 acknowledged
// EXPECT: WARNING open-at-exit
//
// RUN: on=fake args="gone" exit=23
// EXPECT: ERROR unacked-events: ibv_destroy_qp of qp #{{.*}} will block forever: 1 asynchronous event received, 0 acknowledged
// EXPECT: WARNING open-at-exit
//
// RUN: on=fake args="acked" options="strict=1" exit=0
// EXPECT-NOTHING
#include "event_scenario.h"

static struct ibv_context* context;
static struct ibv_qp* qp;
static const char* how;

static void* take_it(void* unused) {
  struct ibv_async_event event;
  MUST(ibv_get_async_event(context, &event) == 0 && event.element.qp == qp);
  if (strcmp(how, "acked") == 0) ibv_ack_async_event(&event);
  if (strcmp(how, "own") == 0) ibv_destroy_qp(qp);
  return unused;
}

static void* destroy(void* unused) {
  MUST(ibv_destroy_qp(qp) == 0);
  return unused;
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  how = argv[1];
  context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  qp = ibv_create_qp(pd, &attr);
  MUST(qp != NULL && fake_post_async_event(context, IBV_EVENT_COMM_EST, qp) == 0);
  pthread_t thread = start(take_it, NULL);
  if (strcmp(how, "own") != 0) {
    join(thread);
    thread = start(destroy, NULL);
  }
  if (strcmp(how, "acked") != 0) {
    MUST(fake_await_waiters("ibv_destroy_qp", 1) == 0);
    exit(0);
  }
  join(thread);
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
