#include "report/quiet_scope.h"

#include <pthread.h>

#include <cerrno>
#include <ctime>
#include <initializer_list>

namespace rdmacheck {

QuietScope::QuietScope() : saved_errno_(errno) {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &saved_cancel_state_);
  sigemptyset(&ours_);
  sigaddset(&ours_, SIGPIPE);
  sigaddset(&ours_, SIGXFSZ);
  sigemptyset(&pending_);
  sigpending(&pending_);
  pthread_sigmask(SIG_BLOCK, &ours_, &saved_mask_);
}

QuietScope::~QuietScope() {
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
  pthread_setcancelstate(saved_cancel_state_, nullptr);
  errno = saved_errno_;
}

}  // namespace rdmacheck
