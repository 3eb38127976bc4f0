// Makes and destroys MRs in some threads until it is killed, and keeps a log of its own in a shared file: what it is making,
// has, and is destroying. kill_test.py compares the log with the journal. On the fake libibverbs.
//   maker LOG [forks]    forks: one more thread makes children by fork() and by _Fork(), which make MRs of their own
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "scenario.h"

#undef ibv_reg_mr
enum { kThreads = 3, kSlots = 40 };
enum State { kNone, kMaking, kHas, kDestroying };

struct Row {
  volatile uint32_t state, lkey;
  volatile uint64_t addr;
};
struct Log {
  volatile uint64_t ready;
  struct Row rows[kThreads][kSlots];
};

static struct Log* log_;
static struct ibv_pd* pd;
static char* area;            // of addresses, each used once
static const uint64_t kArea = 1ull << 36;

__attribute__((noinline)) static struct ibv_mr* make_even(char* addr) {
  struct ibv_mr* mr = ibv_reg_mr(pd, addr, 64, IBV_ACCESS_LOCAL_WRITE);
  __asm__ volatile("" ::: "memory");
  return mr;
}
__attribute__((noinline)) static struct ibv_mr* make_odd(char* addr) {
  struct ibv_mr* mr = ibv_reg_mr(pd, addr, 64, IBV_ACCESS_LOCAL_WRITE);
  __asm__ volatile("" ::: "memory");
  return mr;
}

static void* make_mrs(void* argument) {
  const uintptr_t thread = (uintptr_t)argument;
  struct ibv_mr* mrs[kSlots] = {NULL};
  unsigned seed = (unsigned)thread + 1;
  char* next = area + (thread << 34);
  for (;;) {
    seed = seed * 1103515245u + 12345u;
    const unsigned slot = (seed >> 16) % kSlots;
    struct Row* row = &log_->rows[thread][slot];
    if (mrs[slot] != NULL) {
      row->state = kDestroying;
      MUST(ibv_dereg_mr(mrs[slot]) == 0);
      mrs[slot] = NULL;
      row->state = kNone;
      continue;
    }
    next += 64;
    row->addr = (uint64_t)(uintptr_t)next;
    row->state = kMaking;
    mrs[slot] = ((uintptr_t)next / 64) % 2 == 0 ? make_even(next) : make_odd(next);
    MUST(mrs[slot] != NULL);
    row->lkey = mrs[slot]->lkey;
    row->state = kHas;
    log_->ready = 1;
  }
  return NULL;
}

// What a child makes lies below the area.
static void* fork_children(void* unused) {
  (void)unused;
  for (unsigned n = 0;; ++n) {
    const pid_t child = n % 2 == 0 ? fork() : _Fork();
    if (child == 0) {
      struct ibv_context* context = open_device();
      pd = ibv_alloc_pd(context);
      for (int i = 1; i <= 50; ++i) MUST(make_odd(area - 64 * i) != NULL);
      _exit(0);
    }
    int status;
    MUST(waitpid(child, &status, 0) == child && status == 0);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
  MUST(fd >= 0 && ftruncate(fd, sizeof(struct Log)) == 0);
  log_ = mmap(NULL, sizeof(struct Log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  MUST(log_ != MAP_FAILED);
  close(fd);
  char* const all = mmap(NULL, kArea + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  MUST(all != MAP_FAILED);
  area = all + 4096;
  struct ibv_context* context = open_device();
  pd = ibv_alloc_pd(context);
  pthread_t thread;
  for (uintptr_t i = 0; i < kThreads; ++i) MUST(pthread_create(&thread, NULL, &make_mrs, (void*)i) == 0);
  if (argc > 2) MUST(pthread_create(&thread, NULL, &fork_children, NULL) == 0);
  pause();
  return 0;
}
