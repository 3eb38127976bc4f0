// A blocking get is left by siglongjmp from SIGALRM, the usual way to give it a time limit. What the thread does later is seen:
// nothing is an error that was released, and a leak is one. `deep` releases from frames below the one that was left.
// RUN: on=fake args="shallow" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake args="deep" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake args="leak" exit=23
// EXPECT: ERROR leak-at-close: {{.*}}1 pd
//
// RUN: on=fake args="altstack" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake args="async" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake args="destroy" exit=0
// EXPECT-NOTHING
#include <setjmp.h>
#include <signal.h>

#include "event_scenario.h"

static sigjmp_buf limit;
static void on_alarm(int signal_number) {
  (void)signal_number;
  siglongjmp(limit, 1);
}

static __attribute__((noinline)) void release(struct ibv_context* context, struct ibv_pd* pd, struct ibv_comp_channel* channel,
                                              struct ibv_cq* cq, int depth) {
  volatile char room[512];
  room[0] = (char)depth;
  if (depth > 0) {
    release(context, pd, channel, cq, depth - 1);
    room[1] = room[0];
    return;
  }
  if (cq != NULL) MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_destroy_comp_channel(channel) == 0 && ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_comp_channel* channel = ibv_create_comp_channel(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, channel, 0);
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = on_alarm;
  static char stack[65536];
  if (strcmp(argv[1], "altstack") == 0) {
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
    MUST(sigaltstack(&other, NULL) == 0);
    action.sa_flags = SA_ONSTACK;
  }
  MUST(sigaction(SIGALRM, &action, NULL) == 0);
  if (sigsetjmp(limit, 1) == 0) {
    ualarm(100000, 0);
    if (strcmp(argv[1], "destroy") == 0) {
      fake_delay("ibv_destroy_qp", 2000);
      struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_UD, cq, NULL);
      ibv_destroy_qp(ibv_create_qp(pd, &attr));
    } else if (strcmp(argv[1], "async") == 0) {
      struct ibv_async_event event;
      ibv_get_async_event(context, &event);
    } else {
      struct ibv_cq* got;
      void* of_cq;
      ibv_get_cq_event(channel, &got, &of_cq);
    }
    MUST(!"left by the jump");
  }
  if (strcmp(argv[1], "destroy") == 0) _exit(0);
  release(context, pd, channel, cq, strcmp(argv[1], "deep") == 0 ? 8 : 0);
  context = open_device();
  if (strcmp(argv[1], "leak") == 0) MUST(ibv_alloc_pd(context) != NULL);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
