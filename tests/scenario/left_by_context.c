// A signal handler leaves a blocking get by setcontext(), and coroutines of makecontext() call verbs in turns: what is called later is
// seen, from whichever stack.
// RUN: on=fake args="clean" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake args="leak" exit=23
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 2 objects alive: 1 pd, 1 mr
// EXPECT: #0 coroutine left_by_context.c:@made@
#include <signal.h>
#include <ucontext.h>

#include "event_scenario.h"

static ucontext_t after_the_get, scheduler, coroutines[2];
static volatile int left;
static struct ibv_context* context;
static struct ibv_pd* pd;
static int leaks;

static void on_alarm(int signal_number) {
  (void)signal_number;
  left = 1;
  setcontext(&after_the_get);
}

// Each gives way while it has a registration.
static void coroutine(int number) {
  static char buffer[2][64];
  for (int round = 0; round < 50; ++round) {
    struct ibv_mr* mr = ibv_reg_mr(pd, buffer[number], sizeof(buffer[number]), 0);  // @made
    MUST(mr != NULL);
    MUST(swapcontext(&coroutines[number], &scheduler) == 0);
    if (!(leaks && number == 1 && round == 49)) MUST(ibv_dereg_mr(mr) == 0);
  }
  setcontext(&scheduler);
}

static void prepare(int number) {
  static char stacks[2][65536];
  MUST(getcontext(&coroutines[number]) == 0);
  coroutines[number].uc_stack.ss_sp = stacks[number];
  coroutines[number].uc_stack.ss_size = sizeof(stacks[number]);
  coroutines[number].uc_link = &scheduler;
  makecontext(&coroutines[number], (void (*)(void))coroutine, 1, number);
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  leaks = strcmp(argv[1], "leak") == 0;
  context = open_device();
  struct ibv_comp_channel* channel = ibv_create_comp_channel(context);
  signal(SIGALRM, on_alarm);
  MUST(getcontext(&after_the_get) == 0);
  if (!left) {
    ualarm(100000, 0);
    struct ibv_cq* cq;
    void* of_cq;
    ibv_get_cq_event(channel, &cq, &of_cq);
    MUST(!"left by the handler");
  }
  MUST(ibv_destroy_comp_channel(channel) == 0);
  pd = ibv_alloc_pd(context);
  prepare(0);
  prepare(1);
  for (int turn = 0; turn < 51; ++turn) {
    for (int i = 0; i < 2; ++i) MUST(swapcontext(&scheduler, &coroutines[i]) == 0);
  }
  if (!leaks) MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
