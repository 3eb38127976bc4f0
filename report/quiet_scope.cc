#include "report/quiet_scope.h"

#include <pthread.h>

#include <cerrno>
#include <ctime>
#include <initializer_list>

#include "report/frugal.h"

namespace rdmacheck {

QuietScope::QuietScope() : saved_errno_(errno) { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &saved_cancel_state_); }

QuietScope::~QuietScope() {
  pthread_setcancelstate(saved_cancel_state_, nullptr);
  errno = saved_errno_;
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
