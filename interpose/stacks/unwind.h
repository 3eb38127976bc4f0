// Takes the stack of the calling thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interpose/base/return_address.h"
#include "interpose/base/stack_bounds.h"

namespace rdmacheck {

enum class UnwindBy : unsigned char { kLibunwind, kFramePointers, kNone };

inline constexpr size_t kMaxFrames = 256;

// Where the program's frame begins that called into us.
struct CallPoint {
  void* caller = nullptr;
  uintptr_t stack = 0;  // its stack pointer, once the call has returned (aarch64: at least no more)
  uintptr_t frame = 0;  // its frame pointer register

  bool operator==(const CallPoint& other) const {
    return caller == other.caller && stack == other.stack && frame == other.frame;
  }
};
// Of the function that this stands in (all of ours keep frame pointers).
__attribute__((always_inline)) inline CallPoint CallPointHere() {
  const auto* const frame = static_cast<const uintptr_t*>(__builtin_frame_address(0));
  return {reinterpret_cast<void*>(WithoutSignature(frame[1])), reinterpret_cast<uintptr_t>(frame + 2), frame[0]};
}

// A stack as it was walked, innermost frame first. Which words of it the walk went by is noted: as long as these hold the same
// values, the stack that begins at that point is the same. They are in the order in which the walk came to them, so that one
// that still holds its value says that the next may be read.
struct Trace {
  static constexpr size_t RoomForWords(size_t frames) { return 2 * frames + 8; }

  void** pcs = nullptr;
  uintptr_t* value = nullptr;
  const uintptr_t** at = nullptr;  // each word's place
  size_t limit = 0;        // how many frames there is room for, and are wanted
  size_t depth = 0, words = 0;
  bool recognisable = false;  // the words say all
  uint64_t hash = 0;
};
// The same for the same frames, however they were found.
inline uint64_t NextHash(uint64_t hash, uintptr_t pc) {
  return (hash << 9 | hash >> 55) + pc * 0x9E3779B97F4A7C15u;
}

// Fills `trace` with the frames from point.caller on; our own are left out. At least that one, unless trace->limit is 0, for it is
// known without a walk. `beyond`: what the thread keeps for stacks that are not the C library's (coroutines').
// May be called from any thread; takes locks of libunwind's when it meets code that was not met before, so no lock of ours may
// be held.
void TakeStack(UnwindBy by, const CallPoint& point, StackBounds* beyond, Trace* trace);

// Another thread's stack, copied: the bytes from its stack pointer to where the frame ends of the hook that it is inside of.
struct StackCopy {
  uintptr_t from = 0, to = 0;
  const char* bytes = nullptr;
  uintptr_t pc = 0;     // as a return address is: behind the instruction
  uintptr_t frame = 0;  // the frame pointer register; 0: not known
};
// Fills `pcs` with its frames, innermost first, to that of the hook. False: the walk did not come so far.
bool WalkCopy(UnwindBy by, const StackCopy& copy, void** pcs, size_t limit, size_t* depth);

// Is a hook of ours whose frame (__builtin_frame_address(0)) was at `frame` among the callers of the hook whose frame is at
// `inner`? And is a signal handler between, so that what runs now interrupted it? Walks the stack; libunwind must not be
// what the thread was interrupted in.
enum class Ancestor : unsigned char { kNone, kCaller, kBehindSignal };
Ancestor FindAncestor(uintptr_t frame, uintptr_t inner);

// Round a dlclose() of the program's: what was known of code may not be true of what is loaded there next.
void UnwinderBeginUnload();
void UnwinderEndUnload();

// Around fork(): no thread is inside libunwind's tables at that moment. In a child that was forked past the first, tables
// that were being changed are not used again: stacks then are the direct caller alone.
void UnwinderForkPrepare();
void UnwinderForkParent();
void UnwinderForkChild();
bool UnwinderIsTorn();
// What libunwind remembers of code is learnt anew, whatever state it is in.
void ForgetCode();

// That thread has jumped out of all that it was in here: its locks are given back.
void UnwinderLeftBy(uint32_t thread);

}  // namespace rdmacheck
