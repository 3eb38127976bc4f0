// A thread took an event, did not ack it and has exited: said before the destroy that would wait forever (B43, B45).
// RUN: on=fake args="lose" exit=23
// EXPECT: ERROR unacked-events: ibv_destroy_cq of cq #{{.*}} will block forever: 1 completion event received, 0 acknowledged, and the thread that received the unacknowledged event has exited
// EXPECT: received by thread {{\d+}}{{.*}}(exited)
// EXPECT: called here
// EXPECT: #0 destroy unacked_event_of_exited_thread.c:@destroy@ (
// EXPECT: the event was received
// EXPECT: #{{\d}} take_one event_scenario.h:
// EXPECT: WARNING open-at-exit
// EXPECT-JSON: findings[rule=unacked-events].timeline.length >= 4
// EXPECT-JSON: findings[rule=unacked-events].timeline[what=ibv_create_cq].kind == cq
// EXPECT-JSON: findings[rule=unacked-events].timeline[what=ibv_get_cq_event].kind == cq
//
// RUN: on=fake args="ack" exit=0 options="strict=1"
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
  join(start(take_one, channel));
  if (strcmp(argv[1], "ack") == 0) ibv_ack_cq_events(cq, 1);
  const pthread_t thread = start(destroy, cq);
  if (strcmp(argv[1], "lose") == 0) {
    MUST(fake_await_waiters("ibv_destroy_cq", 1) == 0);
    exit(0);
  }
  join(thread);
  MUST(ibv_destroy_comp_channel(channel) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
