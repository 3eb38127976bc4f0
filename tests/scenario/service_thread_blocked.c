// A service thread sits in ibv_get_async_event, another in ibv_get_cq_event, while everything else comes and goes
// (B54, B57, T7): normal without the setting; with RDMAV_ALLOW_DISASSOC_DESTROY it is what ibv_open_device(3) forbids.
// RUN: on=fake options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake env="RDMAV_ALLOW_DISASSOC_DESTROY=0" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake env="RDMAV_ALLOW_DISASSOC_DESTROY=1" exit=23
// EXPECT: ERROR event-destroy-race: thread {{\d+}} is inside ibv_get_{{async|cq}}_event on {{.*}} while thread {{\d+}} is inside ibv_destroy_qp of qp #{{.*}}, with RDMAV_ALLOW_DISASSOC_DESTROY in effect
// EXPECT: the two overlapped for
// EXPECT: #0 main service_thread_blocked.c:@destroy@ (
// EXPECT: meanwhile in another thread
// EXPECT: #0 {{serve_async|serve_cq}} service_thread_blocked.c:
// EXPECT: ERROR event-destroy-race: thread {{\d+}} is inside ibv_get_{{async|cq}}_event on {{.*}} while thread {{\d+}} is inside ibv_destroy_qp
// EXPECT-JSON: environment.disassoc_destroy == true
// EXPECT-JSON: findings.length == 2
//
// RUN: on=fake env="MLX4_DEVICE_FATAL_CLEANUP=1" exit=23
// EXPECT: ERROR event-destroy-race
// EXPECT: ERROR event-destroy-race
//
// RUN: on=fake options="event_races=always" exit=23
// EXPECT: ERROR event-destroy-race: thread {{\d+}} is inside ibv_get_{{async|cq}}_event
// EXPECT: ERROR event-destroy-race
// EXPECT-NOT: in effect
//
// RUN: on=fake env="RDMAV_ALLOW_DISASSOC_DESTROY=1" options="event_races=never strict=1" exit=0
// EXPECT-NOTHING
#include "event_scenario.h"

static void* serve_async(void* context) {
  struct ibv_async_event event;
  MUST(ibv_get_async_event((struct ibv_context*)context, &event) == 0);
  ibv_ack_async_event(&event);
  return NULL;
}

static void* serve_cq(void* channel) {
  struct ibv_cq* cq = NULL;
  void* data = NULL;
  MUST(ibv_get_cq_event((struct ibv_comp_channel*)channel, &cq, &data) == 0);
  ibv_ack_cq_events(cq, 1);
  return NULL;
}

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_comp_channel* channel = ibv_create_comp_channel(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, channel, 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);
  MUST(qp != NULL);
  const pthread_t async = start(serve_async, context);
  const pthread_t completions = start(serve_cq, channel);
  MUST(fake_await_waiters("ibv_get_async_event", 1) == 0 && fake_await_waiters("ibv_get_cq_event", 1) == 0);
  MUST(ibv_destroy_qp(qp) == 0);  // @destroy
  MUST(fake_post_async_event(context, IBV_EVENT_PORT_ERR, (void*)1) == 0);
  MUST(fake_post_cq_event(cq) == 0);
  join(async);
  join(completions);
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_destroy_comp_channel(channel) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
