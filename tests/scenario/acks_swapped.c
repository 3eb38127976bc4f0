// Two CQs on one channel, an event each, and both acks go to the first: over-acked there, missing here. Said at the ack that
// was one too many, and at the destroy.
// RUN: on=fake args="first" exit=23
// EXPECT: ERROR over-acked-events: ibv_ack_cq_events for cq #{{.*}} acknowledges more events than were received: 1 completion event received, 2 acknowledged
// EXPECT: cq #{{.*}} of the same channel has 1 event unacknowledged: the acknowledgements are probably swapped
// EXPECT: #0 take_both acks_swapped.c:@second@ (
// EXPECT: ERROR over-acked-events: ibv_destroy_cq of cq #{{.*}} will block forever: 1 completion event received, 2 acknowledged
// EXPECT: WARNING open-at-exit
//
// RUN: on=fake args="second" exit=23
// EXPECT: ERROR over-acked-events: ibv_ack_cq_events for cq #
// EXPECT: ERROR unacked-events: ibv_destroy_cq of cq #{{.*}} will block forever: 1 completion event received, 0 acknowledged
// EXPECT: cq #{{.*}} of the same channel has 1 event acknowledged too many: the acknowledgements are probably swapped
// EXPECT: WARNING open-at-exit
#include "event_scenario.h"

static void* destroy(void* cq) {
  ibv_destroy_cq((struct ibv_cq*)cq);
  return NULL;
}

static void* take_both(void* channel) {
  struct ibv_cq* first = take((struct ibv_comp_channel*)channel);
  take((struct ibv_comp_channel*)channel);
  ibv_ack_cq_events(first, 1);
  ibv_ack_cq_events(first, 1);  // @second
  return NULL;
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct ibv_context* context = open_device();
  struct ibv_comp_channel* channel = ibv_create_comp_channel(context);
  struct ibv_cq* first = ibv_create_cq(context, 4, NULL, channel, 0);
  struct ibv_cq* second = ibv_create_cq(context, 4, NULL, channel, 0);
  MUST(first != NULL && second != NULL);
  MUST(fake_post_cq_event(first) == 0 && fake_post_cq_event(second) == 0);
  join(start(take_both, channel));
  start(destroy, strcmp(argv[1], "first") == 0 ? first : second);
  MUST(fake_await_waiters("ibv_destroy_cq", 1) == 0);
  exit(0);
}
