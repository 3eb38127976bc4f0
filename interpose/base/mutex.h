// A mutex that clang's thread-safety analysis understands, that costs nothing at load, and that a forked child can
// make anew. On the futex itself: ThreadSanitizer's pthread functions, which a program brings along, do not work in the
// last moments of a thread, where its blocks are still freed; and absl::Mutex would bring its deadlock detector and its
// constructors into every process of the user. Not a cancellation point, and errno stays as it is. The word says who
// holds it: a thread whose signal handler jumped away while it did is found by that (checker/jump.h).
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "interpose/base/single_threaded.h"
#include "interpose/base/thread_id.h"

namespace rdmacheck {

// Waits while `*word` is `value`, at most until `timeout` (relative; null: forever). May return early.
inline void FutexWait(std::atomic<uint32_t>* word, uint32_t value, const timespec* timeout = nullptr) {
  const int saved = errno;
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAIT_PRIVATE, value, timeout, nullptr, 0);
  errno = saved;
}
inline void FutexWake(std::atomic<uint32_t>* word, int threads) {
  const int saved = errno;
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
  errno = saved;
}

class ABSL_LOCKABLE Mutex {
 public:
  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  // What it guards is a few dozen instructions long, so another thread is waited for awake before it is waited for asleep.
  __attribute__((always_inline)) void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    Acquire();
    if (__builtin_expect(frozen_, false)) AwaitThaw();
  }
  void Unlock() ABSL_UNLOCK_FUNCTION() { Release(); }

  // Before a fork, where many are to be held at once: what a mutex guards stays as it is until Thaw(), or Renew() in the
  // child. None is held meanwhile, so that the fork handlers need none.
  void Freeze() { SetFrozen(true); }
  void Thaw() { SetFrozen(false); }
  // In a forked child, where the thread that held it does not exist. True: one did hold it, and what it guards may be
  // half changed.
  bool Renew() {
    frozen_ = false;
    return state_.exchange(kFree, std::memory_order_relaxed) != kFree;
  }

  // Takes the mutex over if that thread holds it, which will never give it back; it may be this very one. The caller puts
  // in order what the mutex guards, and unlocks it.
  bool TakeFrom(uint32_t thread) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    uint32_t state = state_.load(std::memory_order_relaxed);
    return (state & ~kAwaited) == thread &&
           state_.compare_exchange_strong(state, ThisThreadId() | kAwaited, std::memory_order_acquire);
  }

 private:
  // Otherwise the id of the thread that holds it.
  static constexpr uint32_t kFree = 0, kAwaited = 1u << 31;

  __attribute__((always_inline)) void Acquire() {
    const uint32_t self = ThisThreadId();
    uint32_t state = kFree;
    // Alone, a plain store does; nobody can come between, for no handler takes a lock that its thread may hold.
    if (SingleThreaded() && state_.load(std::memory_order_relaxed) == kFree) {
      state_.store(self, std::memory_order_relaxed);
      return;
    }
    if (__builtin_expect(state_.compare_exchange_strong(state, self, std::memory_order_acquire), true)) return;
    AcquireSlowly(self);
  }
  __attribute__((noinline)) void AcquireSlowly(uint32_t self) {
    if (!SingleThreaded()) {
      for (int i = 0; i < 64; ++i) {
        uint32_t state = kFree;
        if (state_.load(std::memory_order_relaxed) == kFree &&
            state_.compare_exchange_strong(state, self, std::memory_order_acquire)) {
          return;
        }
        Pause();
      }
    }
    for (uint32_t state = state_.load(std::memory_order_relaxed);;) {
      // Who has slept does not know whether others do.
      const uint32_t next = state == kFree ? self | kAwaited : state | kAwaited;
      if (state != next && !state_.compare_exchange_weak(state, next, std::memory_order_acquire)) continue;
      if (state == kFree) return;
      FutexWait(&state_, next);
      state = state_.load(std::memory_order_relaxed);
    }
  }
  void Release() {
    if (SingleThreaded()) {
      state_.store(kFree, std::memory_order_relaxed);
      return;
    }
    if (__builtin_expect((state_.exchange(kFree, std::memory_order_release) & kAwaited) != 0, false)) FutexWake(&state_, 1);
  }
  void SetFrozen(bool frozen) {
    Acquire();
    frozen_ = frozen;
    Release();
  }
  // Sleeps: whoever forks may have a lower priority than this thread.
  __attribute__((noinline, cold)) void AwaitThaw() {
    const int saved = errno;
    while (frozen_) {
      Release();
      const timespec moment{0, 50000};
      syscall(SYS_nanosleep, &moment, nullptr);  // nanosleep() is a point where threads are cancelled
      Acquire();
    }
    errno = saved;
  }
  static void Pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  std::atomic<uint32_t> state_{kFree};
  bool frozen_ = false;  // guarded by the mutex itself
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) { mutex_->Lock(); }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* mutex_;
};

}  // namespace rdmacheck
