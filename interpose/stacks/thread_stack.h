// The stack of another thread that is inside a verb and does not return.
//
// A thread that waits in a system call stands still: where, the kernel says, and its stack is copied without its doing
// anything. Where that does not lead to the hook (a register is not known), or the thread runs, a signal asks it: a handler of
// ours copies registers and stack, and that is all it does. It is sent only where it changes nothing for the program: one that
// the program has no handler for and the thread does not block, and only to a thread that runs or waits in a call that the
// kernel goes on with afterwards.
//
// One question at a time: the watcher asks. No lock of ours may be held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "interpose/stacks/unwind.h"

namespace rdmacheck {

// Why a stack is not known, or only its innermost frames.
enum class Unseen : uint8_t {
  kNothing,   // it is known
  kReturned,  // the thread is not inside the verb any more, or on another stack
  kRestless,  // it goes from one wait to the next too fast to be read
  kNoProc,    // /proc does not say what it does
  kKernel,    // it waits in a system call that no signal interrupts
  kWouldEnd,  // it waits in one that a signal would end early
  kHandled,   // the program handles every real-time signal
  kBlocked,   // the thread blocks those that it does not
  kNoRoom,    // its stack may have no room for a handler
  kNoAnswer,  // it did not take the signal, or has yet to take an earlier one
  kUnreadable,
  kNoWay,     // there are no tables for a frame
};

struct ThreadStack {
  size_t depth = 0;
  void* pcs[kMaxFrames];
  Unseen why = Unseen::kNothing;
  long call = -1;   // the system call that it waits in
  int signal = 0;   // that was sent; 0: none was
};

std::string SystemCallName(long number);

// `top`: where the frame of the hook ends that the thread is inside of; `low`: where its stack does, 0 if that is not known.
void TakeStackOf(int32_t tid, uintptr_t top, uintptr_t low, UnwindBy by, size_t limit, ThreadStack* taken);

// In a forked child, where nobody is asked.
void ThreadStackForkChild();

}  // namespace rdmacheck
