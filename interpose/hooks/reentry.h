// Whose call is this: the program's, or one that a library makes inside a verb of its own? A verb inside a verb is one
// event: libibverbs and the providers call their own exported functions through the PLT.
//
// A thread marks where it entered a verb, by the address of the hook's frame. That a mark is there does not mean that the
// thread is still inside: siglongjmp(), an exception or a cancellation leaves a verb sideways. And a thread that is inside
// may call verbs of its own, in a signal handler that interrupted it. So at each call that meets a mark, the stack is
// asked: is that frame among the callers, and does a signal handler stand between?
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/ledger/threads.h"

namespace rdmacheck {

// Frames of this thread, 0 for none.
struct Marks {
  uintptr_t ours = 0;  // our own code: what is called there is not judged, for we may hold a lock
  const volatile uintptr_t* witness = nullptr;  // in that frame, as long as it is there: ~ours, and the address it returns to
  uintptr_t verb = 0;  // a real verb
  uintptr_t cm = 0;    // a real librdmacm call: hides its own inner ones, but not the verbs inside it
};

class Reentry {
 public:
  enum class Answer : uint8_t { kProgram, kProgramInHandler, kInternal };

  // Asked first thing by a hook, with its own frame and the direct caller.
  static Answer Ask(bool is_cm, uintptr_t frame, void* caller) {
    if (__builtin_expect((marks_.ours | marks_.verb | (is_cm ? marks_.cm : 0)) == 0, true)) return Answer::kProgram;
    return AskStack(is_cm, frame, caller);
  }

  static Marks& ThisThread() { return marks_; }

  // Is this thread in the middle of our own code, so that what calls from `frame` is a signal handler? If it was, and has
  // left by a jump, the locks that it holds there are given back.
  static bool InsideOurs(uintptr_t frame) { return __builtin_expect(marks_.ours != 0, false) && StillInsideOurs(frame); }
  // What the thread is inside is never gone on with. Returns whether a handler that interrupted our own code called verbs: these
  // were not seen.
  static bool ThreadEnds();

 private:
  static bool StillInsideOurs(uintptr_t frame);
  static Answer AskStack(bool is_cm, uintptr_t frame, void* caller);
  static thread_local Marks marks_ __attribute__((tls_model("initial-exec")));
};

// The marks of one hook. There is always one from the first to the last line of it, so that a thread that leaves sideways,
// wherever that is, is recognised at its next call.
template <uintptr_t Marks::*kReal>
class MarkedCall {
 public:
  explicit MarkedCall(uintptr_t frame)
      : frame_(frame), before_(Reentry::ThisThread()), witness_{~frame, reinterpret_cast<const uintptr_t*>(frame)[1]} {
    Reentry::ThisThread().witness = witness_;
    Set(&Marks::ours, frame_);
  }
  ~MarkedCall() {
    Set(kReal, before_.*kReal);
    Set(&Marks::ours, before_.ours);
    Reentry::ThisThread().witness = before_.witness;
  }
  MarkedCall(const MarkedCall&) = delete;
  MarkedCall& operator=(const MarkedCall&) = delete;
  __attribute__((always_inline)) void EnterReal() {
    Set(kReal, frame_);
    Set(&Marks::ours, before_.ours);
  }
  // The witness is as it was: calls inside have put it back.
  __attribute__((always_inline)) void LeaveReal() {
    Set(&Marks::ours, frame_);
    Set(kReal, before_.*kReal);
  }

 private:
  // In this order for a signal handler of this thread, too.
  static void Set(uintptr_t Marks::*mark, uintptr_t frame) {
    Reentry::ThisThread().*mark = frame;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  const uintptr_t frame_;
  const Marks before_;
  volatile uintptr_t witness_[2];
};

// Our own code while a hook is not marked yet, or on the way of a real call.
class MarkedOurs {
 public:
  explicit MarkedOurs(uintptr_t frame)
      : before_(Reentry::ThisThread()), witness_{~frame, reinterpret_cast<const uintptr_t*>(frame)[1]} {
    Reentry::ThisThread().witness = witness_;
    Set(frame);
  }
  ~MarkedOurs() {
    Set(before_.ours);
    Reentry::ThisThread().witness = before_.witness;
  }
  MarkedOurs(const MarkedOurs&) = delete;
  MarkedOurs& operator=(const MarkedOurs&) = delete;

 private:
  static void Set(uintptr_t frame) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    Reentry::ThisThread().ours = frame;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  const Marks before_;
  volatile uintptr_t witness_[2];
};

// A handler's own call while the thread is inside another one: what the thread was doing is put aside meanwhile, so that
// the handler's get or destroy is judged by itself.
class PutAside {
 public:
  PutAside(ThreadRecord* thread, bool really);
  ~PutAside();
  PutAside(const PutAside&) = delete;
  PutAside& operator=(const PutAside&) = delete;

 private:
  ThreadRecord* thread_ = nullptr;  // null: nothing was put aside
  ThreadState before_;
};

}  // namespace rdmacheck
