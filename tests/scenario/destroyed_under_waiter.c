// A channel or a context is destroyed while a thread is blocked in the get on it (rdma-core #1622, ADIOS2 #4959).
// RUN: on=fake args="channel" exit=0
// EXPECT: WARNING destroyed-under-waiter: ibv_destroy_comp_channel of comp_channel #{{.*}} while thread {{\d+}}{{.*}} is blocked in ibv_get_cq_event on it
// EXPECT: #0 main destroyed_under_waiter.c:@channel@ (
// EXPECT: #0 wait_for_completion destroyed_under_waiter.c:@get@ (
//
// RUN: on=fake args="context" exit=0
// EXPECT: WARNING destroyed-under-waiter: ibv_close_device of context #{{.*}} while thread {{\d+}}{{.*}} is blocked in ibv_get_async_event on it
//
// RUN: on=fake args="woken" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake args="polling" exit=0
// EXPECT-NOTHING
#include "event_scenario.h"

static volatile int ends;

static void* wait_for_completion(void* channel) {
  struct ibv_cq* cq;
  void* of_cq;
  if (ibv_get_cq_event((struct ibv_comp_channel*)channel, &cq, &of_cq) == 0) ibv_ack_cq_events(cq, 1);  // @get
  return NULL;
}
static void* wait_for_async(void* context) {
  struct ibv_async_event event;
  ibv_get_async_event((struct ibv_context*)context, &event);
  return NULL;
}
static void* poll_it(void* channel) {
  struct ibv_cq* cq;
  void* of_cq;
  while (!ends) MUST(ibv_get_cq_event((struct ibv_comp_channel*)channel, &cq, &of_cq) == -1 && errno == EAGAIN);
  return NULL;
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct ibv_context* context = open_device();
  if (strcmp(argv[1], "context") == 0) {
    start(wait_for_async, context);
    MUST(fake_await_waiters("ibv_get_async_event", 1) == 0);
    usleep(100000);  // from there into the read
    ibv_close_device(context);
    _exit(0);
  }
  struct ibv_comp_channel* channel = ibv_create_comp_channel(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, channel, 0);
  if (strcmp(argv[1], "polling") == 0) {
    MUST(fcntl(channel->fd, F_SETFL, O_NONBLOCK) == 0);
    const pthread_t thread = start(poll_it, channel);
    usleep(20000);
    ends = 1;
    join(thread);
  } else {
    const pthread_t thread = start(wait_for_completion, channel);
    MUST(fake_await_waiters("ibv_get_cq_event", 1) == 0);
    usleep(100000);
    if (strcmp(argv[1], "woken") == 0) {
      MUST(fake_post_cq_event(cq) == 0);
      join(thread);
    }
  }
  MUST(ibv_destroy_cq(cq) == 0);
  ibv_destroy_comp_channel(channel);  // @channel
  MUST(ibv_close_device(context) == 0);
  _exit(0);
}
