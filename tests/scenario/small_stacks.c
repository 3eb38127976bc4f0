// Threads with the smallest stacks there are, coroutines and signal handlers on alternate stacks make verbs and cause
// findings of several kinds: reports are made on a stack of ours. Nothing of it changes what the program does.
// RUN: on=fake exit=23 args="bad thread"
// SAME-OUTPUT
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: called here
// EXPECT: #0 work small_stacks.c:@refused@ (
// EXPECT: ERROR leak-at-close: ibv_close_device(fake0) leaves 1 object alive: 1 pd
// EXPECT: #0 work small_stacks.c:@leaked@ (
// EXPECT: closed by thread
// EXPECT: #0 work small_stacks.c:@closed@ (
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #
// RUN: on=fake exit=23 args="bad thread" options="unwinder=fp"
// SAME-OUTPUT
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: #0 work small_stacks.c:@refused@ (
// EXPECT: ERROR leak-at-close: ibv_close_device(fake0) leaves 1 object alive: 1 pd
// EXPECT: #0 work small_stacks.c:@leaked@ (
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #
// RUN: on=fake exit=23 args="bad coroutine"
// SAME-OUTPUT
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: #0 work small_stacks.c:@refused@ (
// EXPECT: #1 in_coroutine small_stacks.c
// EXPECT: ERROR leak-at-close: ibv_close_device(fake0) leaves 1 object alive: 1 pd
// EXPECT: #0 work small_stacks.c:@leaked@ (
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #
// RUN: on=fake exit=23 args="bad handler"
// SAME-OUTPUT
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: #0 work small_stacks.c:@refused@ (
// EXPECT: #1 in_handler small_stacks.c
// EXPECT: ERROR leak-at-close: ibv_close_device(fake0) leaves 1 object alive: 1 pd
// EXPECT: #0 work small_stacks.c:@leaked@ (
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #
// RUN: on=fake exit=0 args="good thread"
// SAME-OUTPUT
// EXPECT-NOTHING
// RUN: on=fake exit=0 args="good coroutine"
// SAME-OUTPUT
// EXPECT-NOTHING
// RUN: on=fake exit=0 args="good handler"
// SAME-OUTPUT
// EXPECT-NOTHING
// SANITIZER: its own frames do not fit on these stacks.
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "scenario.h"

static int bad;

static void work(void) {
  static char buffer[64];
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);  // @leaked
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
  MUST(mr != NULL);
  if (bad) MUST(ibv_dealloc_pd(pd) == EBUSY);  // @refused
  MUST(ibv_dereg_mr(mr) == 0);
  if (!bad) MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);  // @closed
}

static void* in_thread(void* argument) {
  work();
  return argument;
}

static ucontext_t caller, coroutine;
static void in_coroutine(void) { work(); }
static void in_handler(int number) {
  (void)number;
  work();
}

int main(int argc, char** argv) {
  MUST(argc == 3);
  bad = strcmp(argv[1], "bad") == 0;
  const size_t size = PTHREAD_STACK_MIN;
  void* stack = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MUST(stack != MAP_FAILED);
  MUST(mprotect(stack, size, PROT_NONE) == 0);  // who writes below is not forgiven
  stack = (char*)stack + size;
  if (strcmp(argv[2], "thread") == 0) {
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    MUST(pthread_attr_setstacksize(&attr, size) == 0);
    pthread_t thread;
    MUST(pthread_create(&thread, &attr, in_thread, NULL) == 0);
    MUST(pthread_join(thread, NULL) == 0);
  } else if (strcmp(argv[2], "coroutine") == 0) {
    MUST(getcontext(&coroutine) == 0);
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = size;
    coroutine.uc_link = &caller;
    makecontext(&coroutine, in_coroutine, 0);
    MUST(swapcontext(&caller, &coroutine) == 0);
  } else {
    stack_t alternate = {.ss_sp = stack, .ss_size = size};
    MUST(sigaltstack(&alternate, NULL) == 0);
    struct sigaction action = {.sa_handler = in_handler, .sa_flags = SA_ONSTACK};
    MUST(sigaction(SIGUSR1, &action, NULL) == 0);
    MUST(raise(SIGUSR1) == 0);
  }
  puts("done");
  return 0;
}
