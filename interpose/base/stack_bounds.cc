#include "interpose/base/stack_bounds.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>

extern "C" void* __libc_stack_end __attribute__((weak));

namespace rdmacheck {
namespace {

// The kernel keeps at least twice as much below the first thread's stack free of mappings.
constexpr uintptr_t kMostOfMainStack = 64u << 20;
// Of the C library's thread descriptor; no release's is smaller, and the fields in question lie at 0x690 and 0x3d0.
#if defined(__x86_64__)
constexpr size_t kDescriptorWords = 0x8c0 / sizeof(uintptr_t);
#else
constexpr size_t kDescriptorWords = 0x680 / sizeof(uintptr_t);
#endif

std::atomic<uintptr_t> main_stack_size{1u << 20};
thread_local StackBounds bounds __attribute__((tls_model("initial-exec")));
thread_local bool asked __attribute__((tls_model("initial-exec"))) = false;

// The descriptor lies at the upper end of the thread's stack and says where that begins, how large it is, and how much of
// it is the guard. Which fields these are differs between releases; the first two neighbours that enclose the descriptor
// so closely are they. Sanitizers have no opinion on the C library's own data.
__attribute__((no_sanitize("address", "thread"))) StackBounds FromDescriptor() {
  const uintptr_t descriptor = reinterpret_cast<uintptr_t>(pthread_self());
  const auto* word = reinterpret_cast<const uintptr_t*>(descriptor);
  for (size_t i = 0; i + 2 < kDescriptorWords; ++i) {
    const uintptr_t begin = word[i], size = word[i + 1], guard = word[i + 2];
    if (begin == 0 || begin >= descriptor || size < 4096 || size > uintptr_t{1} << 40 || guard >= size) continue;
    const uintptr_t end = begin + size;
    if (end < descriptor || end - descriptor > 65536) continue;
    return {begin + guard, descriptor};
  }
  return {};
}

StackBounds Find() {
  const uintptr_t here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  const uintptr_t end = &__libc_stack_end == nullptr ? 0 : reinterpret_cast<uintptr_t>(__libc_stack_end);
  if (here < end && end - here < kMostOfMainStack) return {end - main_stack_size.load(std::memory_order_relaxed), end};
  return FromDescriptor();
}

}  // namespace

const StackBounds& BoundsOfThisThread() {
  if (!asked) {
    bounds = Find();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    asked = true;
  }
  return bounds;
}

namespace internal {

thread_local StackBounds ample;

bool FindAmpleStack(uintptr_t here) {
  if (ample.high != 0) return false;
  const StackBounds& all = BoundsOfThisThread();
  if (all.high == 0) return false;
  ample.low = all.high - all.low > kAmpleStack ? all.low + kAmpleStack : all.high;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  ample.high = all.high;
  return ample.Holds(here);
}

}  // namespace internal

void NoteMainStackLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0) return;
  main_stack_size.store(std::min<uintptr_t>(limit.rlim_cur, kMostOfMainStack), std::memory_order_relaxed);
}

}  // namespace rdmacheck
