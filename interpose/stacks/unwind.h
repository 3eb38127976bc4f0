// Takes the stack of the calling thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rdmacheck {

enum class UnwindBy : unsigned char { kLibunwind, kFramePointers, kNone };

inline constexpr size_t kMaxFrames = 256;

// Fills pcs with at most `depth` (<= kMaxFrames) return addresses, innermost first, beginning with `caller`: the place
// in the program (or a library) that called into us. Our own frames are left out. Returns how many; at least 1 unless
// depth is 0, since the caller is known without unwinding.
// May be called from any thread; takes locks of libunwind's when it meets code it has not met before, so no lock of
// ours may be held.
size_t TakeStack(UnwindBy by, void* caller, void** pcs, size_t depth);

// Is a hook of ours whose frame (__builtin_frame_address(0)) was at `frame` among the callers of the hook whose frame is at
// `inner`? And is a signal handler between, so that what runs now interrupted it? Walks the stack; libunwind must not be
// what the thread was interrupted in.
enum class Ancestor : unsigned char { kNone, kCaller, kBehindSignal };
Ancestor FindAncestor(uintptr_t frame, uintptr_t inner);

// Around fork(): no thread is inside libunwind's tables at that moment. In a child that was forked past the first, tables
// that were being changed are not used again: stacks then are the direct caller alone.
void UnwinderForkPrepare();
void UnwinderForkParent();
void UnwinderForkChild();
bool UnwinderIsTorn();

// ---- the parts, for stack_memo.cc

// Where the program's frame begins that called into us.
struct CallPoint {
  void* caller = nullptr;
  uintptr_t stack = 0;  // its stack pointer, once the call has returned
  uintptr_t frame = 0;  // its frame pointer register
};
// False where the following two cannot work (another processor, another libunwind, ThreadSanitizer).
bool FindCallPoint(void* caller, CallPoint* point);

// As TakeStack by libunwind; 0 if the frames are not of the usual kind, which TakeStack then manages.
size_t TakeStackFrom(const CallPoint& point, void** pcs, size_t depth);

// A word of the stack that the unwinder reads on its way, and what it held.
struct StackWord {
  const uintptr_t* at;
  uintptr_t value;
};
// All words that decide where the stack pcs[0..depth) leads from its call point, in the order in which the unwinder reads
// them: as long as they hold the same values, the stack is the same. 0: not known, or more than `limit`.
size_t FindStackWords(void* caller, void* const* pcs, size_t depth, StackWord* words, size_t limit);

}  // namespace rdmacheck
