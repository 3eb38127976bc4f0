#include "report/own_descriptors.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace rdmacheck {
namespace {

constexpr size_t kStackSize = 64 << 10;

struct Task {
  int (*work)(void*);
  void* argument;
  int result;
};

int Run(void* data) {
  auto* task = static_cast<Task*>(data);
  // The number in this table alone: the file stays open in the program's. Number 0 is never what a report is written
  // to, while /dev/stderr or /dev/fd/9 may be.
  syscall(SYS_close, 0);
  task->result = task->work(task->argument);
  return 0;
}

}  // namespace

int WithOwnDescriptors(int (*work)(void*), void* argument) {
  const int saved = errno;
  void* stack = mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) {
    errno = saved;
    return ENOMEM;
  }
  Task task = {work, argument, EAGAIN};
  // By the kernel's own call, for the C library keeps two signals of its own from being blocked.
  const uint64_t all = ~uint64_t{0};
  uint64_t before = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
  // Without an exit signal in the flags. Untraced, so that a debugger does not stop at it.
  const int pid = clone(&Run, static_cast<char*>(stack) + kStackSize, CLONE_VM | CLONE_VFORK | CLONE_UNTRACED, &task);
  if (pid < 0) {
    task.result = errno;
  } else {
    while (syscall(SYS_wait4, pid, nullptr, __WALL, nullptr) < 0 && errno == EINTR) {
    }
  }
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, nullptr, sizeof(before));
  munmap(stack, kStackSize);
  errno = saved;
  return task.result;
}

}  // namespace rdmacheck
