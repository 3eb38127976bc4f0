// Lets us do I/O in the middle of somebody else's call without their noticing.
#pragma once

#include <csignal>

namespace rdmacheck {

// While it lives, the calling thread cannot be cancelled (open, write and close are cancellation points, and unwinding
// through us would end the process). At the end the cancellation state and errno are what they were. No system call.
class QuietScope {
 public:
  QuietScope();
  ~QuietScope();
  QuietScope(const QuietScope&) = delete;
  QuietScope& operator=(const QuietScope&) = delete;

 private:
  int saved_errno_;
  int saved_cancel_state_ = 0;
};

// While it lives, SIGPIPE and SIGXFSZ that our own writes raise are swallowed, and SIGTTOU does not stop a program in
// the background for a text of ours. At the end the signal mask is what it was. Keeps errno. Nothing at all where
// system calls are to be few (frugal.h).
class BlockedSignals {
 public:
  BlockedSignals();
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  const bool active_;
  sigset_t pending_;  // those that waited before we began: they are the program's
  sigset_t saved_mask_;
};

}  // namespace rdmacheck
