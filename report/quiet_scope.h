// Lets us do I/O in the middle of somebody else's call without their noticing.
#pragma once

#include <csignal>

namespace rdmacheck {

// While it lives, the calling thread cannot be cancelled (open, write and close are cancellation points, and unwinding
// through us would end the process), and SIGPIPE and SIGXFSZ that our own writes raise are swallowed. At the end the
// signal mask, the cancellation state and errno are what they were. Does not nest needlessly but may.
class QuietScope {
 public:
  QuietScope();
  ~QuietScope();
  QuietScope(const QuietScope&) = delete;
  QuietScope& operator=(const QuietScope&) = delete;

 private:
  int saved_errno_;
  int saved_cancel_state_ = 0;
  sigset_t ours_;     // the signals our writes may raise
  sigset_t pending_;  // those that waited before we began: they are the program's
  sigset_t saved_mask_;
};

}  // namespace rdmacheck
