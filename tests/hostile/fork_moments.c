// fork_moments FORKS SEED: eight busy threads, and forks at random moments. Each child does one thing and ends; one that
// has not ended after half a minute hangs. Prints how many hung, died and returned something else.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

#include "scenario.h"

int rdmacheck_snapshot(const char*) __attribute__((weak));
int rdmacheck_growth_begin(void) __attribute__((weak));
int rdmacheck_growth_end(int) __attribute__((weak));

enum { kThreads = 8, kWays = 8 };
static struct ibv_context* context;
static atomic_int stop;

// Ever new stacks: `path` says which of two ways each frame takes.
__attribute__((noinline)) static int descend(unsigned path, int depth, struct ibv_pd* pd);
__attribute__((noinline)) static int left(unsigned path, int depth, struct ibv_pd* pd) {
  return descend(path >> 1, depth - 1, pd) + 1;
}
__attribute__((noinline)) static int right(unsigned path, int depth, struct ibv_pd* pd) {
  return descend(path >> 1, depth - 1, pd) + 2;
}
static int descend(unsigned path, int depth, struct ibv_pd* pd) {
  static __thread char buffer[64];
  if (depth > 0) return (path & 1) != 0 ? right(path, depth, pd) : left(path, depth, pd);
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
  MUST(mr != NULL);
  if ((path & 6) == 6) MUST(ibv_dealloc_pd(pd) == EBUSY);
  MUST(ibv_dereg_mr(mr) == 0);
  return 0;
}

static void* work(void* number) {
  unsigned seed = (unsigned)(uintptr_t)number * 7919u + 1;
  struct ibv_pd* pd = ibv_alloc_pd(context);
  while (!atomic_load(&stop)) {
    seed = seed * 1664525u + 1013904223u;
    descend(seed >> 8, 12, pd);
    if ((seed & 0xff00) == 0 && rdmacheck_growth_begin != NULL) rdmacheck_growth_end(rdmacheck_growth_begin());
  }
  MUST(ibv_dealloc_pd(pd) == 0);
  return NULL;
}

// Ends the process; a grandchild does one of the first seven things, so that there is none below it.
static void in_child(int way, unsigned seed) {
  switch (way) {
    case 0: break;
    case 1: case 2: {
      struct ibv_context* own = open_device();
      struct ibv_pd* pd = ibv_alloc_pd(own);
      for (unsigned i = 0; i < 10; ++i) descend(seed + i * 7777, 12, pd);
      if (way == 1) MUST(ibv_dealloc_pd(pd) == 0);
      MUST(ibv_close_device(own) == 0);  // the second leaves its PD: a finding in the child
      break;
    }
    case 3: MUST(dlopen("libm.so.6", RTLD_NOW) != NULL && dlopen("libutil.so.1", RTLD_NOW) != NULL); break;
    case 4: if (rdmacheck_snapshot != NULL) MUST(rdmacheck_snapshot("/dev/null") == 0); break;
    case 5: if (rdmacheck_growth_begin != NULL) rdmacheck_growth_end(rdmacheck_growth_begin()); break;
    case 6: execl("/bin/true", "true", (char*)NULL); _exit(98);
    case 7: {
      const pid_t grandchild = fork();
      if (grandchild == 0) in_child((int)((seed >> 4) % 7), seed);
      int status = 0;
      MUST(waitpid(grandchild, &status, 0) == grandchild && status == 0);
      break;
    }
    default: break;
  }
  _exit(0);
}

int main(int argc, char** argv) {
  const int forks = argc > 1 ? atoi(argv[1]) : 500;
  unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
  context = open_device();
  pthread_t threads[kThreads];
  for (uintptr_t i = 0; i < kThreads; ++i) MUST(pthread_create(&threads[i], NULL, work, (void*)i) == 0);
  int hung = 0, died = 0, wrong = 0;
  for (int i = 0; i < forks && hung < 3; ++i) {
    seed = seed * 1664525u + 1013904223u;
    usleep((seed >> 10) % 2000);
    const pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) in_child((int)((seed >> 8) % kWays), seed);
    int status = 0, waited = 0;
    while (waitpid(child, &status, WNOHANG) == 0 && ++waited < 30000) usleep(1000);
    if (waited >= 30000) {
      ++hung;
      fprintf(stderr, "child %d of way %u hangs\n", i, (seed >> 8) % kWays);
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
    } else if (WIFSIGNALED(status)) {
      ++died;
      fprintf(stderr, "child %d of way %u died of signal %d\n", i, (seed >> 8) % kWays, WTERMSIG(status));
    } else if (status != 0) {
      ++wrong;
      fprintf(stderr, "child %d of way %u returned %d\n", i, (seed >> 8) % kWays, WEXITSTATUS(status));
    }
  }
  atomic_store(&stop, 1);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  MUST(ibv_close_device(context) == 0);
  printf("%d hung, %d died, %d returned something else\n", hung, died, wrong);
  return 0;
}
