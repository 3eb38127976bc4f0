// The only include of <libunwind.h>.
#include "interpose/ledger/unwind.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <pthread.h>

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

// 0: it could not be done this way.
__attribute__((always_inline)) inline size_t TraceFrom(void* caller, void** pcs, size_t depth) {
  const OwnFrame* hook = _ULx86_64_tdep_trace == nullptr ? nullptr : HookFrame(caller);
  if (hook == nullptr) return 0;
  pcs[0] = caller;
  if (depth == 1) return 1;
  unw_context_t context;
  context.uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(caller);
  context.uc_mcontext.gregs[REG_RSP] = reinterpret_cast<greg_t>(hook + 1);
  context.uc_mcontext.gregs[REG_RBP] = reinterpret_cast<greg_t>(hook->up);
  unw_cursor_t cursor;
  if (unw_init_local(&cursor, &context) != 0) return 0;
  int rest = static_cast<int>(depth) - 1;
  if (_ULx86_64_tdep_trace(&cursor, pcs + 1, &rest) < 0) return 0;
  return static_cast<size_t>(rest) + 1;
}
#else
inline size_t TraceFrom(void*, void**, size_t) { return 0; }
#endif

struct StackBounds {
  uintptr_t low = 0, high = 0;
};

// Frame pointers of code built without them are arbitrary numbers: only addresses inside this thread's stack are read.
StackBounds BoundsOfThisThread() {
  static thread_local StackBounds bounds __attribute__((tls_model("initial-exec")));
  if (bounds.high == 0) {
    pthread_attr_t attr;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
      void* low = nullptr;
      size_t size = 0;
      pthread_attr_getstack(&attr, &low, &size);
      pthread_attr_destroy(&attr);
      bounds.low = reinterpret_cast<uintptr_t>(low);
      bounds.high = bounds.low + size;
    }
  }
  return bounds;
}

__attribute__((noinline)) size_t WalkFramePointers(void** pcs, size_t depth) {
  const StackBounds bounds = BoundsOfThisThread();
  auto* frame = static_cast<void**>(__builtin_frame_address(0));
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

size_t TakeStack(UnwindBy by, void* caller, void** pcs, size_t depth) {
  if (depth == 0) return 0;
  if (by == UnwindBy::kLibunwind) {
    if (const size_t n = TraceFrom(caller, pcs, depth)) return n;
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

}  // namespace rdmacheck
