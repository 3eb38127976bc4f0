// Verbs that a thread calls while it is inside a blocking get, or on its way out of it: in a signal handler, in atexit handlers
// after exit() in the handler, in a cancelled thread's cleanup handlers, destructors and thread-specific data. All are seen, so
// nothing is left at the end; with `leak` something is.
// SANITIZER: ThreadSanitizer runs a handler later, out of an interceptor of its own: no signal frame lies between.
//
// RUN: on=fake args="handler" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake args="handler leak" exit=0
// EXPECT: WARNING open-at-exit: {{.*}}1 pd
//
// RUN: on=fake args="altstack" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake args="exit" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake args="cancel" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake args="destructor" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake args="thread_local" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake args="key" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake args="twice" exit=23
// EXPECT: ERROR double-destroy: ibv_dealloc_pd of pd #
// EXPECT: #0 release() verbs_in_handlers.cc:@release@ (
#include <pthread.h>
#include <signal.h>

#include <string>

#include "event_scenario.h"

static ibv_context* context;
static ibv_pd* pd;
static ibv_comp_channel* channel;
static ibv_cq* cq;
static std::string mode;
static bool leaks;

static __attribute__((noinline)) void release() {
  if (!leaks) ibv_dealloc_pd(pd);
  if (mode == "twice") ibv_dealloc_pd(pd);  // @release
  ibv_destroy_cq(cq);
  cq = nullptr;
}

static void on_signal(int) {
  if (mode == "exit") exit(0);
  release();
}

static void close_all() {
  if (mode == "exit") release();
  if (leaks) return;
  ibv_destroy_comp_channel(channel);
  ibv_close_device(context);
}

struct Releases {
  ~Releases() { release(); }
};

static void wait_for_event() {
  ibv_cq* got;
  void* of_cq;
  ibv_get_cq_event(channel, &got, &of_cq);
}

static void* service(void*) {
  if (mode == "cancel") {
    pthread_cleanup_push([](void*) { release(); }, nullptr);
    wait_for_event();
    pthread_cleanup_pop(0);
  } else if (mode == "destructor") {
    Releases at_the_end;
    wait_for_event();
  } else if (mode == "thread_local") {
    static thread_local Releases at_the_end;
    (void)&at_the_end;
    asm volatile("" : : "r"(&at_the_end));
    wait_for_event();
  } else {
    pthread_key_t key;
    MUST(pthread_key_create(&key, [](void*) { release(); }) == 0 && pthread_setspecific(key, &key) == 0);
    wait_for_event();
  }
  return nullptr;
}

int main(int argc, char** argv) {
  MUST(argc >= 2);
  mode = argv[1];
  leaks = argc > 2;
  context = open_device();
  pd = ibv_alloc_pd(context);
  channel = ibv_create_comp_channel(context);
  cq = ibv_create_cq(context, 4, nullptr, channel, 0);
  if (mode == "handler" || mode == "altstack" || mode == "exit" || mode == "twice") {
    struct sigaction action = {};
    action.sa_handler = on_signal;  // without SA_RESTART: the get returns with EINTR
    static char stack[262144];
    if (mode == "altstack") {
      stack_t other = {};
      other.ss_sp = stack;
      other.ss_size = sizeof(stack);
      MUST(sigaltstack(&other, nullptr) == 0);
      action.sa_flags = SA_ONSTACK;
    }
    MUST(sigaction(SIGALRM, &action, nullptr) == 0);
    atexit([] { close_all(); });
    ualarm(100000, 0);
    ibv_cq* got;
    void* of_cq;
    MUST(ibv_get_cq_event(channel, &got, &of_cq) == -1 && errno == EINTR);
    return 0;
  }
  const pthread_t thread = start(service, nullptr);
  MUST(fake_await_waiters("ibv_get_cq_event", 1) == 0);
  MUST(pthread_cancel(thread) == 0);
  join(thread);
  MUST(cq == nullptr);
  close_all();
  return 0;
}
