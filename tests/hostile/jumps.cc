// jumps WAY: control leaves verbs sideways, 500 times; then everything is released, and one PD is leaked if LEAK is set.
//
//   get        siglongjmp out of ibv_get_cq_event, which waits
//   destroy    siglongjmp out of ibv_dereg_mr and ibv_dealloc_pd, which the fake delays
//   handler    a signal handler calls verbs while its thread waits in a get
//   cancel     pthread_cancel of a thread in a get or in between; cleanup handlers and destructors release
//   exit       exit() in a signal handler while another verb runs
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>

#include <atomic>

#include "scenario.h"

namespace {

ibv_context* context;
ibv_comp_channel* channel;
sigjmp_buf back;
pthread_t worker;
std::atomic<long> done;
enum { kRounds = 500 };

void Jump(int) { siglongjmp(back, 1); }

void CallVerbs(int) {
  ibv_pd* pd = ibv_alloc_pd(context);
  MUST(pd != nullptr);
  MUST(ibv_dealloc_pd(pd) == 0);
  ++done;
}

void On(int number, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  MUST(sigaction(number, &action, nullptr) == 0);
}

pid_t worker_tid;
std::atomic<int> round_begun{-1};

// Is the worker in read(2) of the channel, or asleep in the fake's delay? Before and after that it is in the fake's or the
// library's own code, where the fake itself stands no jump.
bool StandsInVerb() {
  char name[64], line[256] = {};
  snprintf(name, sizeof(name), "/proc/self/task/%d/syscall", worker_tid);
  FILE* file = fopen(name, "r");
  MUST(file != nullptr);
  const bool got = fgets(line, sizeof(line), file) != nullptr;
  fclose(file);
  long number = -1, first = -1;
  if (!got || sscanf(line, "%ld %lx", &number, &first) < 1) return false;  // "running"
  return (number == SYS_read && first == channel->fd) || number == SYS_clock_nanosleep || number == SYS_nanosleep;
}

// One signal a round.
void* Disturber(void* rounds) {
  for (int round = 0; round < *static_cast<int*>(rounds); ++round) {
    while (round_begun != round) sched_yield();
    while (!StandsInVerb()) usleep(100);
    MUST(pthread_kill(worker, SIGUSR1) == 0);
  }
  return nullptr;
}

template <class Body>
void InRounds(int rounds, Body body) {
  worker = pthread_self();
  worker_tid = gettid();
  On(SIGUSR1, Jump);
  pthread_t thread;
  MUST(pthread_create(&thread, nullptr, Disturber, &rounds) == 0);
  for (int i = 0; i < rounds; ++i) body();
  pthread_join(thread, nullptr);
}

void JumpOutOfGets() {
  InRounds(kRounds, [] {
    if (sigsetjmp(back, 1) == 0) {
      ibv_cq* cq;
      void* its;
      ++round_begun;
      ibv_get_cq_event(channel, &cq, &its);
      MUST(false);
    }
    ibv_pd* pd = ibv_alloc_pd(context);
    MUST(pd != nullptr);
    MUST(ibv_dealloc_pd(pd) == 0);
  });
}

// The fake sleeps before it does anything, so the object is whole after the jump.
template <class Destroy>
void JumpOutOf(const char* verb, Destroy destroy) {
  fake_delay(verb, 60000);
  if (sigsetjmp(back, 1) == 0) {
    ++round_begun;
    destroy();
    MUST(false);
  }
  fake_delay(verb, 0);
  MUST(destroy() == 0);
}

void JumpOutOfDestroys() {
  static char buffer[64];
  static ibv_pd* pd;
  static ibv_mr* mr;
  InRounds(kRounds, [] {
    if (mr == nullptr) {
      pd = ibv_alloc_pd(context);
      mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
      JumpOutOf("ibv_dereg_mr", [] { return ibv_dereg_mr(mr); });
    } else {
      JumpOutOf("ibv_dealloc_pd", [] { return ibv_dealloc_pd(pd); });
      mr = nullptr;
    }
  });
}

void* Reader(void*) {
  ibv_cq* cq;
  void* its;
  for (int i = 0; i < kRounds; ++i) {
    MUST(ibv_get_cq_event(channel, &cq, &its) == 0);
    ibv_ack_cq_events(cq, 1);
  }
  return nullptr;
}

void HandlersCallVerbs(ibv_cq* cq) {
  On(SIGUSR1, CallVerbs);
  MUST(pthread_create(&worker, nullptr, Reader, nullptr) == 0);
  for (int i = 0; i < kRounds; ++i) {
    MUST(fake_await_waiters("ibv_get_cq_event", 1) == 0);
    const long before = done;
    MUST(pthread_kill(worker, SIGUSR1) == 0);
    while (done == before) sched_yield();
    MUST(fake_post_cq_event(cq) == 0);
  }
  pthread_join(worker, nullptr);
  printf("%ld handlers\n", done.load());
}

// What a cancelled thread holds; released by the unwinding.
struct Held {
  ibv_pd* pd = nullptr;
  ibv_mr* mr = nullptr;
  ~Held() {
    if (mr != nullptr) MUST(ibv_dereg_mr(mr) == 0);
    if (pd != nullptr) MUST(ibv_dealloc_pd(pd) == 0);
    ++done;
  }
};

void ReleasePd(void* pd) {
  MUST(ibv_dealloc_pd(static_cast<ibv_pd*>(pd)) == 0);
  ++done;
}

__attribute__((noinline)) void WorkUntilCancelled() {
  static thread_local char buffer[64];
  Held held;
  held.pd = ibv_alloc_pd(context);
  for (unsigned i = 0;; ++i) {
    held.mr = ibv_reg_mr(held.pd, buffer, sizeof(buffer), 0);
    MUST(held.mr != nullptr);
    MUST(ibv_dealloc_pd(held.pd) == EBUSY);  // a report: its write must not be where the thread ends
    MUST(ibv_dereg_mr(held.mr) == 0);
    held.mr = nullptr;
    if (i % 16 == 15) {
      ibv_cq* cq;
      void* its;
      // Waits for the cancellation.
      if ((reinterpret_cast<uintptr_t>(held.pd) >> 6) % 3 == 0) ibv_get_cq_event(channel, &cq, &its);
    }
    pthread_testcancel();
  }
}

void* Cancelled(void*) {
  ibv_pd* pd = ibv_alloc_pd(context);
  pthread_cleanup_push(ReleasePd, pd);
  WorkUntilCancelled();
  pthread_cleanup_pop(1);
  return nullptr;
}

void CancelThreads() {
  unsigned seed = 1;
  for (int i = 0; i < kRounds; ++i) {
    pthread_t thread;
    void* result = nullptr;
    MUST(pthread_create(&thread, nullptr, Cancelled, nullptr) == 0);
    seed = seed * 1664525u + 1013904223u;
    usleep((seed >> 10) % 1000);
    MUST(pthread_cancel(thread) == 0);
    MUST(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
  }
  printf("%ld released, %ld pd and %ld mr left\n", done.load(), static_cast<long>(fake_live("pd")), static_cast<long>(fake_live("mr")));
}

ibv_cq* last_cq;
void ExitNow(int) {
  MUST(ibv_destroy_cq(last_cq) == 0);
  MUST(ibv_destroy_comp_channel(channel) == 0);
  MUST(ibv_close_device(context) == 0);
  puts("exit in a handler");
  exit(0);
}

void ExitInHandler() {
  On(SIGALRM, ExitNow);
  ibv_pd* pd = ibv_alloc_pd(context);
  MUST(ibv_dealloc_pd(pd) == 0);
  fake_delay("ibv_query_device", 3000);
  ibv_device_attr attr;
  ualarm(20000, 0);
  ibv_query_device(context, &attr);
  ibv_cq* cq;
  void* its;
  for (;;) ibv_get_cq_event(channel, &cq, &its);
}

}  // namespace

int main(int argc, char** argv) {
  MUST(argc == 2);
  const char* way = argv[1];
  context = open_device();
  channel = ibv_create_comp_channel(context);
  ibv_cq* cq = ibv_create_cq(context, 4, nullptr, channel, 0);
  MUST(cq != nullptr);
  last_cq = cq;
  if (strcmp(way, "get") == 0) JumpOutOfGets();
  if (strcmp(way, "destroy") == 0) JumpOutOfDestroys();
  if (strcmp(way, "handler") == 0) HandlersCallVerbs(cq);
  if (strcmp(way, "cancel") == 0) CancelThreads();
  if (strcmp(way, "exit") == 0) ExitInHandler();
  if (getenv("LEAK") != nullptr) MUST(ibv_alloc_pd(context) != nullptr);
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_destroy_comp_channel(channel) == 0);
  MUST(ibv_close_device(context) == 0);
  puts("done");
  return 0;
}
