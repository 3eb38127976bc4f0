// A destroy waits for an event whose taker lives: legal, so nothing is said but, after hang_timeout, what it waits for
// (B48). Then the taker acks, and all is well.
// RUN: on=fake options="hang_timeout=1" args="slow" exit=0
// EXPECT: WARNING blocked-destroy: ibv_destroy_cq of cq #{{.*}} has not returned for
// EXPECT: an event received by thread {{\d+}}
// EXPECT: #0 destroy blocked_destroy.c:@destroy@ (
// EXPECT-NOT: unacked-events
// EXPECT-JSON: findings[0].timeline.length >= 3
//
// RUN: on=fake args="quick" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake options="hang_timeout=0" args="quick" exit=0
// EXPECT-NOTHING
#include "event_scenario.h"

static void* destroy(void* cq) {
  MUST(ibv_destroy_cq((struct ibv_cq*)cq) == 0);  // @destroy
  return NULL;
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct ibv_context* context = open_device();
  struct ibv_comp_channel* channel = ibv_create_comp_channel(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, channel, 0);
  MUST(cq != NULL && fake_post_cq_event(cq) == 0);
  take(channel);
  const pthread_t thread = start(destroy, cq);
  MUST(fake_await_waiters("ibv_destroy_cq", 1) == 0);
  if (strcmp(argv[1], "slow") == 0) await_in_report("blocked-destroy");
  ibv_ack_cq_events(cq, 1);
  join(thread);
  MUST(ibv_destroy_comp_channel(channel) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
