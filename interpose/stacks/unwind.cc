// The only include of <libunwind.h>.
#include "interpose/stacks/unwind.h"

#include "interpose/libraries/loaded_object.h"
#include "interpose/base/proc_files.h"
#include "interpose/base/stack_bounds.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <cstdint>

#if defined(__SANITIZE_THREAD__)
#define RDMACHECK_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RDMACHECK_TSAN 1
#endif
#endif

namespace rdmacheck {
namespace {

// Between the hook and unw_backtrace lie a few frames of ours; a caller deeper than this is not looked for.
constexpr size_t kOwnFrames = 12;

#ifdef RDMACHECK_TSAN
// unw_backtrace keeps a cache for each thread and frees it in the very last round of thread-specific destructors, under
// a mutex: ThreadSanitizer has forgotten the thread by then, and crashes. Stepping keeps no such cache.
__attribute__((noinline)) int Backtrace(void** pcs, int depth) {
  unw_context_t context;
  unw_cursor_t cursor;
  if (unw_getcontext(&context) != 0 || unw_init_local(&cursor, &context) != 0) return 0;
  int n = 0;
  while (n < depth && unw_step(&cursor) > 0) {
    unw_word_t ip = 0;
    if (unw_get_reg(&cursor, UNW_REG_IP, &ip) != 0 || ip == 0) break;
    pcs[n++] = reinterpret_cast<void*>(ip);
  }
  return n;
}
#else
int Backtrace(void** pcs, int depth) { return unw_backtrace(pcs, depth); }
#endif

#if defined(__x86_64__) && !defined(RDMACHECK_TSAN)
// What unw_backtrace does after it has taken the registers. It reads no more of the context than these three, so it can
// begin at the program's frame: our own frames, a quarter of a usual stack, are not walked.
extern "C" int _ULx86_64_tdep_trace(unw_cursor_t* cursor, void** pcs, int* size) __attribute__((weak));

struct OwnFrame {
  OwnFrame* up;
  void* return_address;
};

// The frame of the hook, which returns to `caller`; ours all keep their frame pointers. Null if it is not there.
__attribute__((always_inline)) inline const OwnFrame* HookFrame(void* caller) {
  const auto* frame = static_cast<const OwnFrame*>(__builtin_frame_address(0));
  for (size_t i = 0; i < kOwnFrames; ++i) {
    if (frame->return_address == caller) return frame;
    if (frame->up <= frame) return nullptr;
    frame = frame->up;
  }
  return nullptr;
}

#endif

// Frame pointers of code built without them are arbitrary numbers: only addresses inside the stack that we are on are
// read. Where the C library does not know it, the kernel does.
StackBounds BoundsOfStack(uintptr_t here) {
  StackBounds bounds = BoundsOfThisThread();
  if (!bounds.Holds(here) && !FindMapping(here, &bounds.low, &bounds.high)) return {};
  return bounds;
}

__attribute__((noinline)) size_t WalkFramePointers(void** pcs, size_t depth) {
  auto* frame = static_cast<void**>(__builtin_frame_address(0));
  const StackBounds bounds = BoundsOfStack(reinterpret_cast<uintptr_t>(frame));
  size_t n = 0;
  while (n < depth) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(frame);
    if (at < bounds.low || at + 2 * sizeof(void*) > bounds.high || at % sizeof(void*) != 0) break;
    if (frame[1] == nullptr) break;
    pcs[n++] = frame[1];
    auto* next = static_cast<void**>(frame[0]);
    if (next <= frame) break;
    frame = next;
  }
  return n;
}

}  // namespace

#if defined(__x86_64__) && !defined(RDMACHECK_TSAN)

bool FindCallPoint(void* caller, CallPoint* point) {
  if (UnwinderIsTorn()) return false;
  const OwnFrame* hook = _ULx86_64_tdep_trace == nullptr ? nullptr : HookFrame(caller);
  if (hook == nullptr) return false;
  point->caller = caller;
  point->stack = reinterpret_cast<uintptr_t>(hook + 1);
  point->frame = reinterpret_cast<uintptr_t>(hook->up);
  return true;
}

size_t TakeStackFrom(const CallPoint& point, void** pcs, size_t depth) {
  if (depth == 0) return 0;
  pcs[0] = point.caller;
  if (depth == 1) return 1;
  unw_context_t context;
  context.uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(point.caller);
  context.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(point.stack);
  context.uc_mcontext.gregs[REG_RBP] = static_cast<greg_t>(point.frame);
  unw_cursor_t cursor;
  if (unw_init_local(&cursor, &context) != 0) return 0;
  int rest = static_cast<int>(depth) - 1;
  if (_ULx86_64_tdep_trace(&cursor, pcs + 1, &rest) < 0) return 0;
  return static_cast<size_t>(rest) + 1;
}

// tdep_trace manages frames whose CFA is a constant away from the stack or frame pointer, and those that a compiler has
// realigned, where the CFA itself lies in the frame; of registers it follows only the frame pointer. So the words are
// the return addresses, the saved frame pointers, and the CFAs of realigned frames.
size_t FindStackWords(void* caller, void* const* pcs, size_t depth, StackWord* words, size_t limit) {
  unw_context_t context;
  unw_cursor_t cursor;
  if (unw_getcontext(&context) != 0 || unw_init_local(&cursor, &context) != 0) return 0;
  unw_word_t ip = 0;
  for (size_t i = 0; i < kOwnFrames && reinterpret_cast<void*>(ip) != caller; ++i) {
    if (unw_step(&cursor) <= 0 || unw_get_reg(&cursor, UNW_REG_IP, &ip) != 0) return 0;
  }
  size_t n = 0;
  auto add = [&](unw_word_t at) {
    if (n >= limit) return false;
    const auto* word = reinterpret_cast<const uintptr_t*>(at);
    words[n++] = {word, *word};
    return true;
  };
  unw_word_t last_saved_frame = 0;
  for (size_t k = 0; k + 1 < depth; ++k) {
    unw_word_t frame = 0, cfa = 0;
    unw_save_loc_t return_address, saved_frame;
    if (unw_get_reg(&cursor, UNW_REG_IP, &ip) != 0 || reinterpret_cast<void*>(ip) != pcs[k]) return 0;
    if (unw_is_signal_frame(&cursor) > 0 || unw_get_reg(&cursor, UNW_X86_64_RBP, &frame) != 0) return 0;
    if (unw_step(&cursor) <= 0 || unw_get_reg(&cursor, UNW_REG_SP, &cfa) != 0) return 0;
    if (unw_get_save_loc(&cursor, UNW_X86_64_RIP, &return_address) != 0 || return_address.type != UNW_SLT_MEMORY) return 0;
    if (unw_get_save_loc(&cursor, UNW_X86_64_RBP, &saved_frame) != 0) return 0;
    if (return_address.u.addr != cfa - sizeof(void*)) return 0;
    const bool saved_here = saved_frame.type == UNW_SLT_MEMORY && saved_frame.u.addr != last_saved_frame;
    if (saved_here && saved_frame.u.addr == frame && cfa != frame + 2 * sizeof(void*)) {
      const unw_word_t cfa_at = frame - sizeof(void*);
      if (!add(cfa_at) || words[n - 1].value != cfa) return 0;
    }
    if (!add(return_address.u.addr)) return 0;
    if (saved_here) {
      if (!add(saved_frame.u.addr)) return 0;
      last_saved_frame = saved_frame.u.addr;
    }
  }
  return unw_get_reg(&cursor, UNW_REG_IP, &ip) == 0 && reinterpret_cast<void*>(ip) == pcs[depth - 1] ? n : 0;
}

#else

bool FindCallPoint(void*, CallPoint*) { return false; }
size_t TakeStackFrom(const CallPoint&, void**, size_t) { return 0; }
size_t FindStackWords(void*, void* const*, size_t, StackWord*, size_t) { return 0; }

#endif

size_t TakeStack(UnwindBy by, void* caller, void** pcs, size_t depth) {
  if (depth == 0) return 0;
  if (by == UnwindBy::kLibunwind && UnwinderIsTorn()) by = UnwindBy::kNone;
  if (by == UnwindBy::kLibunwind) {
    CallPoint point;
    if (FindCallPoint(caller, &point)) {
      if (const size_t n = TakeStackFrom(point, pcs, depth)) return n;
    }
  }
  if (by != UnwindBy::kNone) {
    void* all[kMaxFrames + kOwnFrames];
    const size_t wanted = depth + kOwnFrames;
    const int got = by == UnwindBy::kLibunwind ? Backtrace(all, static_cast<int>(wanted))
                                                 : static_cast<int>(WalkFramePointers(all, wanted));
    for (int i = 0; i < got && i < static_cast<int>(kOwnFrames); ++i) {
      if (all[i] != caller) continue;
      size_t n = 0;
      for (int k = i; k < got && n < depth; ++k) pcs[n++] = all[k];
      return n;
    }
  }
  pcs[0] = caller;
  return 1;
}

Ancestor FindAncestor(uintptr_t frame, uintptr_t inner) {
  constexpr int kMostSteps = 512;
  unw_context_t context;
  unw_cursor_t cursor;
  if (UnwinderIsTorn() || unw_getcontext(&context) != 0 || unw_init_local(&cursor, &context) != 0) return Ancestor::kNone;
  bool signal = false, beyond = false;
  unw_word_t ip = 0, low = 0, high = 0;
  for (int i = 0; i < kMostSteps; ++i) {
    if (unw_get_reg(&cursor, UNW_REG_IP, &ip) != 0 || unw_get_reg(&cursor, UNW_REG_SP, &low) != 0) break;
    const bool is_signal = unw_is_signal_frame(&cursor) > 0;
    if (unw_step(&cursor) <= 0 || unw_get_reg(&cursor, UNW_REG_SP, &high) != 0) break;
    // The frame's address may be given to another function later: only a frame of ours there is the one that is meant.
    // The inner hook may lie just where the outer one, long left, has been.
    if (beyond && IsOwnCode(ip) && low <= frame && frame < high) return signal ? Ancestor::kBehindSignal : Ancestor::kCaller;
    beyond |= low <= inner && inner < high;
    signal |= is_signal;
  }
  return Ancestor::kNone;
}

}  // namespace rdmacheck
