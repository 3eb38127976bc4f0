#include "report/quiet_scope.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <initializer_list>

#include "report/frugal.h"

namespace rdmacheck {

namespace {

// Of this thread: how many it is in, and what its cancellation state was before the outermost.
thread_local int depth __attribute__((tls_model("initial-exec"))) = 0;
thread_local int cancel_state __attribute__((tls_model("initial-exec"))) = PTHREAD_CANCEL_ENABLE;

constexpr uint64_t Bit(int signal) { return uint64_t{1} << (signal - 1); }
// 32 and 33 are the C library's own: setuid() waits until each thread has handled one. SIGSYS is what a filter raises.
constexpr uint64_t kBlocked = ~(Bit(SIGSEGV) | Bit(SIGBUS) | Bit(SIGFPE) | Bit(SIGILL) | Bit(SIGTRAP) | Bit(SIGSYS) | Bit(SIGABRT) |
                                Bit(32) | Bit(33));

}  // namespace

// The depth says so only while signals wait: a handler that jumps away leaves it as it was.
QuietScope::QuietScope() : saved_errno_(errno) {
  if (depth == 0) {
    blocks_ = !Frugal() && syscall(SYS_rt_sigprocmask, SIG_BLOCK, &kBlocked, &saved_mask_, sizeof(kBlocked)) == 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  ++depth;
}

QuietScope::~QuietScope() {
  --depth;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (depth == 0) {
    pthread_setcancelstate(cancel_state, nullptr);
    if (blocks_) syscall(SYS_rt_sigprocmask, SIG_SETMASK, &saved_mask_, nullptr, sizeof(saved_mask_));
  }
  errno = saved_errno_;
}

void QuietScope::LeftSideways() {
  if (depth == 0) return;
  depth = 0;
  pthread_setcancelstate(cancel_state, nullptr);
}

BlockedSignals::BlockedSignals() : active_(!Frugal()) {
  if (!active_) return;
  const int saved = errno;
  sigset_t ours;
  sigemptyset(&ours);
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGTTOU}) sigaddset(&ours, signal);
  sigemptyset(&pending_);
  sigpending(&pending_);
  pthread_sigmask(SIG_BLOCK, &ours, &saved_mask_);
  errno = saved;
}

BlockedSignals::~BlockedSignals() {
  if (!active_) return;
  const int saved = errno;
  // A signal that was pending before belongs to the program, and one more of its kind would have been merged with it.
  sigset_t to_swallow;
  sigemptyset(&to_swallow);
  bool any = false;
  for (const int signal : {SIGPIPE, SIGXFSZ}) {
    if (sigismember(&pending_, signal) == 1) continue;
    sigaddset(&to_swallow, signal);
    any = true;
  }
  sigset_t now;
  sigemptyset(&now);
  if (any && sigpending(&now) == 0 && (sigismember(&now, SIGPIPE) == 1 || sigismember(&now, SIGXFSZ) == 1)) {
    const timespec at_once = {0, 0};
    while (sigtimedwait(&to_swallow, nullptr, &at_once) > 0 || errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &saved_mask_, nullptr);
  errno = saved;
}

}  // namespace rdmacheck
