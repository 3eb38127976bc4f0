// Where the stack of this thread lies: without a system call, and without the C library's pthread_getattr_np(), which
// allocates and reads /proc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rdmacheck {

struct StackBounds {
  uintptr_t low = 0, high = 0;
  bool Holds(uintptr_t address) const { return address - low < high - low; }
};

// The stack that the C library gave this thread; both 0 where it is not known. The caller may run on another one (a
// coroutine's, an alternate signal stack), which Holds() tells. Kept after the first question.
const StackBounds& BoundsOfThisThread();

// Room that a call of ours may need, with a report in the making.
inline constexpr size_t kAmpleStack = 256 * 1024;

namespace internal {
// The part of this thread's stack that has ample room below it; empty until it is asked for.
extern thread_local StackBounds ample __attribute__((tls_model("initial-exec")));
bool FindAmpleStack(uintptr_t here);
}  // namespace internal

// Is that much left below the caller? False also where nobody knows.
__attribute__((always_inline)) inline bool HasAmpleStack() {
  const uintptr_t here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return __builtin_expect(internal::ample.Holds(here), true) || internal::FindAmpleStack(here);
}

// How low the first thread's stack can grow; asked for once, at the start.
void NoteMainStackLimit();

}  // namespace rdmacheck
