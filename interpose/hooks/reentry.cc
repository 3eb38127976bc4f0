#include "interpose/hooks/reentry.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose/judge/judge.h"
#include "interpose/libraries/loaded_object.h"
#include "interpose/stacks/module_table.h"
#include "interpose/base/own_stack.h"
#include "interpose/stacks/unwind.h"

namespace rdmacheck {

thread_local Marks Reentry::marks_;

namespace {

// Is the handler that runs now on its alternate stack? Addresses of two stacks say nothing about which is the inner one.
bool OnAlternateStack() {
  stack_t now;
  const int saved = errno;
  const bool is = syscall(SYS_sigaltstack, nullptr, &now) == 0 && (now.ss_flags & SS_ONSTACK) != 0;
  errno = saved;
  return is;
}

}  // namespace

Reentry::Answer Reentry::AskStack(bool is_cm, uintptr_t frame, void* caller) {
  if (marks_.ours != 0) {
    // libunwind may be what was interrupted, so that the stack cannot be asked here.
    if (frame < marks_.ours || IsOnOwnStack(frame) || OnAlternateStack()) return Answer::kInternal;
    marks_.ours = 0;
    ForgetCallUnderWay();
  }
  Answer answer = Answer::kProgram;
  for (uintptr_t Marks::*mark : {&Marks::verb, &Marks::cm}) {
    const uintptr_t outer = marks_.*mark;
    if (outer == 0 || (mark == &Marks::cm && !is_cm)) continue;
    // Our own: a library's function whose last act is a verb jumps there, and returns to the hook that called it.
    const bool from_library = IsOwnCode(reinterpret_cast<uintptr_t>(caller)) || IsLibraryCode(caller);
    if (frame < outer && from_library) return Answer::kInternal;
    switch (FindAncestor(outer, frame)) {
      case Ancestor::kCaller:
        return Answer::kInternal;  // another interposer stands between us and the library, or a callback was called
      case Ancestor::kBehindSignal:
        answer = Answer::kProgramInHandler;
        break;
      case Ancestor::kNone:
        marks_.*mark = 0;
        ForgetCallUnderWay();
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
