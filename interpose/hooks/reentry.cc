#include "interpose/hooks/reentry.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose/base/thread_id.h"
#include "interpose/checker/jump.h"
#include "interpose/judge/judge.h"
#include "interpose/libraries/loaded_object.h"
#include "interpose/stacks/module_table.h"
#include "interpose/base/own_stack.h"
#include "interpose/stacks/unwind.h"
#include "report/frugal.h"

namespace rdmacheck {

thread_local Marks Reentry::marks_;

namespace {

// The mark (Marks::ours) under which a handler called verbs last; it is an address of that thread's stack.
std::atomic<uintptr_t> unseen_in{0};

// Is the handler that runs now on its alternate stack? Addresses of two stacks say nothing about which is the inner one.
bool OnAlternateStack() {
  stack_t now;
  const int saved = errno;
  const bool is = syscall(SYS_sigaltstack, nullptr, &now) == 0 && (now.ss_flags & SS_ONSTACK) != 0;
  errno = saved;
  return is;
}

// Does the frame that was marked so still lie there? What runs later over its place writes other words.
bool StillThere(uintptr_t frame, const volatile uintptr_t* witness) {
  const auto readable = [](const volatile uintptr_t* word) { return Frugal() || CanRead(reinterpret_cast<uintptr_t>(word)); };
  const auto* const words = reinterpret_cast<const volatile uintptr_t*>(frame);
  return readable(witness) && readable(words + 1) && witness[0] == ~frame && witness[1] == words[1];
}

void LeaveOurs() {
  LeftOurCode(ThisThreadId());
  ForgetCallUnderWay();
}

}  // namespace

bool Reentry::StillInsideOurs(uintptr_t frame) {
  // libunwind may be what was interrupted, so that the stack cannot be asked here.
  if (IsOnOwnStack(frame)) return true;
  if ((frame < marks_.ours || OnAlternateStack()) && StillThere(marks_.ours, marks_.witness)) return true;
  LeaveOurs();
  marks_.ours = 0;
  return false;
}

bool Reentry::ThreadEnds() {
  if ((marks_.ours | marks_.verb | marks_.cm) == 0) return false;
  const bool unseen = marks_.ours != 0 && unseen_in.load(std::memory_order_relaxed) == marks_.ours;
  LeaveOurs();
  marks_ = Marks();
  return unseen;
}

Reentry::Answer Reentry::AskStack(bool is_cm, uintptr_t frame, void* caller) {
  if (InsideOurs(frame)) {
    unseen_in.store(marks_.ours, std::memory_order_relaxed);
    return Answer::kInternal;
  }
  Answer answer = Answer::kProgram;
  for (uintptr_t Marks::*mark : {&Marks::verb, &Marks::cm}) {
    const uintptr_t outer = marks_.*mark;
    if (outer == 0 || (mark == &Marks::cm && !is_cm)) continue;
    // Our own: a library's function whose last act is a verb jumps there, and returns to the hook that called it.
    const bool from_library = IsOwnCode(reinterpret_cast<uintptr_t>(caller)) || IsLibraryCode(caller);
    if (frame < outer && from_library) return Answer::kInternal;
    // A handler that jumps away while the stack is asked leaves our own code, too.
    const MarkedOurs marked(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
    switch (FindAncestor(outer, frame)) {
      case Ancestor::kCaller:
        return Answer::kInternal;  // another interposer stands between us and the library, or a callback was called
      case Ancestor::kBehindSignal:
        answer = Answer::kProgramInHandler;
        break;
      case Ancestor::kNone:
        marks_.*mark = 0;
        LeaveOurs();
        break;
    }
  }
  return answer;
}

PutAside::PutAside(ThreadRecord* thread, bool really) {
  if (!really || thread == nullptr) return;
  before_ = StateOf(*thread);
  if (before_.activity == Activity::kNone) return;
  thread_ = thread;
  EndActivity(thread);
}

PutAside::~PutAside() {
  if (thread_ == nullptr) return;
  BeginActivity(thread_, before_.activity, before_.verb, before_.object, before_.kind, before_.serial, before_.stack,
                before_.begin);
}

}  // namespace rdmacheck
