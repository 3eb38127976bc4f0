// With hang_stacks=1 the report of a destroy that does not return shows where in the library its thread stands. One that
// waits in a system call is not disturbed: its sleep lasts as long as without us.
// SANITIZER: with AddressSanitizer the fake's frame is found by rbp only, which nobody knows of a thread that sleeps.
// RUN: on=fake options="hang_timeout=1:hang_stacks=1" env="FAKE_DELAY=ibv_dealloc_pd=1600" args="sleeps" exit=0
// EXPECT: WARNING blocked-destroy: ibv_dealloc_pd of pd #
// EXPECT: called here, thread
// EXPECT: #0 dealloc hang_stacks.c:@dealloc@ (
// EXPECT: the thread stands at:
// EXPECT: #{{\d+}} ibv_dealloc_pd
// EXPECT: dealloc hang_stacks.c:@dealloc@ (
// EXPECT-NOT: is not known
// EXPECT-JSON: findings[0].stacks[1].role == other-thread
//
// RUN: on=fake options="hang_timeout=1:hang_stacks=1" args="waits" exit=0
// EXPECT: WARNING blocked-destroy: ibv_dealloc_pd of pd #
// EXPECT: the thread stands at:
// EXPECT: #{{\d+}} ibv_dealloc_pd
// EXPECT: dealloc hang_stacks.c:@dealloc@ (
// EXPECT-JSON: findings[0].stacks[1].role == other-thread
//
// One that runs is asked by a signal, and no handler of ours stays.
// RUN: on=fake options="hang_timeout=1:hang_stacks=1" args="spins" exit=0
// EXPECT: WARNING blocked-destroy: ibv_dealloc_pd of pd #
// EXPECT: the thread stands at:
// EXPECT: #{{\d+}} ibv_dealloc_pd
// EXPECT: dealloc hang_stacks.c:@dealloc@ (
//
// The program has handlers of its own: they stay, and are not called.
// RUN: on=fake options="hang_timeout=1:hang_stacks=1" args="spins handles some" exit=0
// EXPECT: WARNING blocked-destroy: ibv_dealloc_pd of pd #
// EXPECT: the thread stands at:
// EXPECT: #{{\d+}} ibv_dealloc_pd
//
// RUN: on=fake options="hang_timeout=1:hang_stacks=1" args="spins handles all" exit=0
// EXPECT: WARNING blocked-destroy: ibv_dealloc_pd of pd #
// EXPECT: where in the library the thread stands is not known: the program handles every real-time signal
// EXPECT-NOT: the thread stands at
//
// RUN: on=fake options="hang_timeout=1:hang_stacks=1" args="spins blocks all" exit=0
// EXPECT: WARNING blocked-destroy: ibv_dealloc_pd of pd #
// EXPECT: where in the library the thread stands is not known: it blocks every real-time signal that the program does not handle
// EXPECT-NOT: the thread stands at
//
// Not asked for.
// RUN: on=fake options="hang_timeout=1" args="spins" exit=0
// EXPECT: WARNING blocked-destroy: ibv_dealloc_pd of pd #
// EXPECT-NOT: stands
//
// The passing variant: it returns.
// RUN: on=fake options="hang_timeout=1:hang_stacks=1" args="returns" exit=0
// EXPECT-NOTHING
#include <signal.h>

#include "event_scenario.h"

static volatile sig_atomic_t handled;
static void handler(int number) { handled = number; }

static int is(const char* one, const char* other) { return strcmp(one, other) == 0; }

static int blocks;

static void* dealloc(void* pd) {
  sigset_t all;
  sigfillset(&all);
  if (blocks) MUST(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
  MUST(ibv_dealloc_pd((struct ibv_pd*)pd) == 0);  // @dealloc
  return NULL;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char** argv) {
  MUST(argc >= 2);
  const char* how = argv[1];
  const int some = argc == 4 && is(argv[3], "some"), handles = argc == 4 && is(argv[2], "handles");
  blocks = argc == 4 && is(argv[2], "blocks");
  struct sigaction action, present;
  memset(&action, 0, sizeof(action));
  action.sa_handler = handler;
  for (int number = SIGRTMIN; handles && number <= SIGRTMAX; ++number) {
    if (!some || number != SIGRTMIN + 3) MUST(sigaction(number, &action, NULL) == 0);
  }
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  MUST(pd != NULL);
  if (is(how, "waits")) fake_block("ibv_dealloc_pd");
  if (is(how, "spins")) fake_spin("ibv_dealloc_pd");
  const double before = seconds();
  const pthread_t thread = start(dealloc, pd);
  if (!is(how, "returns")) await_in_report("blocked-destroy");
  if (!is(how, "sleeps")) fake_unblock("ibv_dealloc_pd");
  join(thread);
  if (is(how, "sleeps")) MUST(seconds() - before >= 1.6);
  MUST(handled == 0);
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) {
    MUST(sigaction(number, NULL, &present) == 0);
    MUST(present.sa_handler == (handles && !(some && number == SIGRTMIN + 3) ? handler : SIG_DFL));
  }
  MUST(ibv_close_device(context) == 0);
  return 0;
}
