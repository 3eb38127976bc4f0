// Lets us do I/O in the middle of somebody else's call without their noticing.
#pragma once

#include <csignal>
#include <cstdint>

namespace rdmacheck {

// While it lives, the calling thread cannot be cancelled (open, write and close are cancellation points, and unwinding
// through us would end the process), and no signal handler of the program runs on it, which might jump away and leave half
// done what is under way; signals of its own faults aside. At the end the cancellation state, the signal mask and errno are
// what they were. Two system calls for the outermost; none for one inside another, or where they are to be few (frugal.h).
class QuietScope {
 public:
  QuietScope();
  ~QuietScope();
  QuietScope(const QuietScope&) = delete;
  QuietScope& operator=(const QuietScope&) = delete;

  // This thread has jumped out of all that it was in, as a handler of its own faults may.
  static void LeftSideways();

 private:
  int saved_errno_;
  bool blocks_ = false;
  uint64_t saved_mask_ = 0;
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
