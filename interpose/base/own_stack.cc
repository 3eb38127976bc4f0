#include "interpose/base/own_stack.h"

#include <errno.h>
#include <sys/mman.h>

#include <atomic>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RDMACHECK_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RDMACHECK_SANITIZED 1
#endif
#endif

// Our own code built with a sanitizer stays where it is: those keep a shadow of the stack they know.
#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(RDMACHECK_SANITIZED)
#define RDMACHECK_OWN_STACK 1
#endif

#include "interpose/base/thread_id.h"
#include "report/frugal.h"

namespace rdmacheck {

#ifdef RDMACHECK_OWN_STACK

// rdmacheck_call_on(function, argument, top): the frame pointer leads back, for debuggers and unwinders too.
extern "C" __attribute__((visibility("hidden"))) void rdmacheck_call_on(void (*function)(void*), void* argument, void* top);
#if defined(__x86_64__)
asm(R"(
  .text
  .p2align 4
  .hidden rdmacheck_call_on
  .globl rdmacheck_call_on
  .type rdmacheck_call_on, @function
rdmacheck_call_on:
  .cfi_startproc
  endbr64
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset 6, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register 6
  movq %rdx, %rsp
  movq %rdi, %rax
  movq %rsi, %rdi
  callq *%rax
  movq %rbp, %rsp
  popq %rbp
  .cfi_def_cfa 7, 8
  ret
  .cfi_endproc
  .size rdmacheck_call_on, . - rdmacheck_call_on
)");
#else
asm(R"(
  .text
  .p2align 4
  .hidden rdmacheck_call_on
  .globl rdmacheck_call_on
  .type rdmacheck_call_on, %function
rdmacheck_call_on:
  .cfi_startproc
  hint 34
  stp x29, x30, [sp, -16]!
  .cfi_def_cfa_offset 16
  .cfi_offset 29, -16
  .cfi_offset 30, -8
  mov x29, sp
  .cfi_def_cfa_register 29
  mov sp, x2
  mov x9, x0
  mov x0, x1
  blr x9
  mov sp, x29
  ldp x29, x30, [sp], 16
  .cfi_def_cfa 31, 0
  .cfi_restore 29
  .cfi_restore 30
  ret
  .cfi_endproc
  .size rdmacheck_call_on, . - rdmacheck_call_on
)");
#endif

namespace {

// What is not touched costs nothing. libdw and the demangler are the deepest.
constexpr size_t kSize = 1024 * 1024, kGuard = 4096;
constexpr size_t kMost = 64;  // threads with short stacks that are in here at once; more of them stay on their own

struct Stack {
  std::atomic<uintptr_t> low{0};  // 0: not mapped yet
  std::atomic<uint32_t> taken_by{0};  // a thread, or 0
};
Stack stacks[kMost];
std::atomic<size_t> tried{0};  // stacks[0 .. tried) were taken at least once

// Valgrind otherwise takes the way there and back for a stack that grows. Anywhere else these instructions do nothing.
void TellValgrind([[maybe_unused]] uintptr_t low) {
#if defined(__x86_64__)
  const uint64_t request[6] = {0x1501 /* STACK_REGISTER */, low, low + kSize, 0, 0, 0};
  uint64_t result = 0;
  asm volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
               : "=d"(result)
               : "a"(request), "0"(result)
               : "cc", "memory");
#endif
}

bool Map(Stack* stack) {
  const int saved = errno;
  if (Frugal()) return false;
  void* at = mmap(nullptr, kGuard + kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at != MAP_FAILED) {
    mprotect(at, kGuard, PROT_NONE);
    const uintptr_t low = reinterpret_cast<uintptr_t>(at) + kGuard;
    TellValgrind(low);
    stack->low.store(low, std::memory_order_release);
  }
  errno = saved;
  return at != MAP_FAILED;
}

Stack* Take() {
  for (size_t i = 0; i < kMost; ++i) {
    Stack& stack = stacks[i];
    uint32_t none = 0;
    if (!stack.taken_by.compare_exchange_strong(none, ThisThreadId(), std::memory_order_acquire)) continue;
    size_t seen = tried.load(std::memory_order_relaxed);
    while (seen <= i && !tried.compare_exchange_weak(seen, i + 1)) {
    }
    if (stack.low.load(std::memory_order_relaxed) != 0 || Map(&stack)) return &stack;
    stack.taken_by.store(0, std::memory_order_release);
    return nullptr;
  }
  return nullptr;
}

}  // namespace

void CallOnOwnStack(void (*function)(void*), void* argument) {
  // A handler that interrupted us there stays there.
  Stack* stack = IsOnOwnStack(reinterpret_cast<uintptr_t>(__builtin_frame_address(0))) ? nullptr : Take();
  if (stack == nullptr) {
    function(argument);
    return;
  }
  rdmacheck_call_on(function, argument, reinterpret_cast<void*>(stack->low.load(std::memory_order_relaxed) + kSize));
  stack->taken_by.store(0, std::memory_order_release);
}

bool IsOnOwnStack(uintptr_t address) {
  const size_t n = tried.load(std::memory_order_acquire);
  for (size_t i = 0; i < n; ++i) {
    const uintptr_t low = stacks[i].low.load(std::memory_order_acquire);
    if (low != 0 && address - low < kSize) return true;
  }
  return false;
}

void OwnStacksForkChild() {
  const uintptr_t here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  const size_t n = tried.load(std::memory_order_relaxed);
  for (size_t i = 0; i < n; ++i) {
    const uintptr_t low = stacks[i].low.load(std::memory_order_relaxed);
    const bool here_now = low != 0 && here - low < kSize;
    stacks[i].taken_by.store(here_now ? ThisThreadId() : 0, std::memory_order_relaxed);
  }
}

void OwnStacksLeftBy(uint32_t thread) {
  const size_t n = tried.load(std::memory_order_acquire);
  for (size_t i = 0; i < n; ++i) {
    uint32_t its = thread;
    stacks[i].taken_by.compare_exchange_strong(its, 0, std::memory_order_release);
  }
}

#else

void CallOnOwnStack(void (*function)(void*), void* argument) { function(argument); }
bool IsOnOwnStack(uintptr_t) { return false; }
void OwnStacksForkChild() {}
void OwnStacksLeftBy(uint32_t) {}

#endif

}  // namespace rdmacheck
