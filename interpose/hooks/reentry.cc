#include "interpose/hooks/reentry.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose/judge/judge.h"
#include "interpose/ledger/module_table.h"
#include "interpose/ledger/own_stack.h"
#include "interpose/ledger/threads.h"
#include "interpose/ledger/unwind.h"

namespace rdmacheck {

thread_local Marks Reentry::marks_;

// Our own file in memory, by the linker.
extern "C" {
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
}

namespace {

// A library's function whose last act is a verb jumps there, and returns to who called it: the hook that forwarded to it.
bool IsOurCode(const void* address) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(address);
  return at >= reinterpret_cast<uintptr_t>(__ehdr_start) && at < reinterpret_cast<uintptr_t>(_end);
}

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
  }
  Answer answer = Answer::kProgram;
  for (uintptr_t Marks::*mark : {&Marks::verb, &Marks::cm}) {
    const uintptr_t outer = marks_.*mark;
    if (outer == 0 || (mark == &Marks::cm && !is_cm)) continue;
    if (frame < outer && (IsOurCode(caller) || IsLibraryCode(caller))) return Answer::kInternal;
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
  const Activity activity = thread->activity.load(std::memory_order_relaxed);
  if (activity == Activity::kNone) return;
  thread_ = thread;
  activity_ = static_cast<uint8_t>(activity);
  kind_ = thread->kind.load(std::memory_order_relaxed);
  verb_ = thread->verb.load(std::memory_order_relaxed);
  object_ = thread->object.load(std::memory_order_relaxed);
  serial_ = thread->serial.load(std::memory_order_relaxed);
  stack_ = thread->stack.load(std::memory_order_relaxed);
  begin_ = thread->begin.load(std::memory_order_relaxed);
  EndActivity(thread);
}

PutAside::~PutAside() {
  if (thread_ == nullptr) return;
  BeginActivity(thread_, static_cast<Activity>(activity_), verb_, object_, kind_, serial_, stack_, begin_);
}

}  // namespace rdmacheck
