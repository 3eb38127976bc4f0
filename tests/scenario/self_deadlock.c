// The thread that destroys the CQ holds its event: nobody else can ack, so it is said even while others live.
// RUN: on=fake exit=23
// EXPECT: ERROR self-deadlock: ibv_destroy_cq of cq #{{.*}} will block forever: 1 completion event received, 0 acknowledged, and the calling thread holds the unacknowledged event
// EXPECT: called here
// EXPECT: #0 take_and_destroy self_deadlock.c:@destroy@ (
// EXPECT: the event was received
// EXPECT-NOT: unacked-events
// EXPECT: WARNING open-at-exit
#include "event_scenario.h"

static void* take_and_destroy(void* channel) {
  struct ibv_cq* cq = take((struct ibv_comp_channel*)channel);
  ibv_destroy_cq(cq);  // @destroy
  return NULL;
}

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_comp_channel* channel = ibv_create_comp_channel(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, channel, 0);
  MUST(cq != NULL && fake_post_cq_event(cq) == 0);
  start(take_and_destroy, channel);
  MUST(fake_await_waiters("ibv_destroy_cq", 1) == 0);
  exit(0);
}
