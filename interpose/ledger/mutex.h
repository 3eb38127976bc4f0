// A mutex that clang's thread-safety analysis understands, that costs nothing at load, and that a forked child can
// make anew. absl::Mutex would bring its deadlock detector and its constructors into every process of the user.
#pragma once

#include <pthread.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "absl/base/thread_annotations.h"

namespace rdmacheck {

class ABSL_LOCKABLE Mutex {
 public:
  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  // What it guards is a few dozen instructions long, so another thread is waited for awake before it is waited for asleep.
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    Acquire();
    if (__builtin_expect(frozen_, false)) AwaitThaw();
  }
  void Unlock() ABSL_UNLOCK_FUNCTION() { pthread_mutex_unlock(&mutex_); }

  // Before a fork, where many are to be held at once: what a mutex guards stays as it is until Thaw(), or Renew() in the
  // child. None is held meanwhile, for ThreadSanitizer ends a process in which one thread holds more than 64.
  void Freeze() { SetFrozen(true); }
  void Thaw() { SetFrozen(false); }
  // In a forked child, where the thread that held it does not exist.
  void Renew() {
    new (&mutex_) pthread_mutex_t(PTHREAD_MUTEX_INITIALIZER);
    frozen_ = false;
  }

 private:
  void Acquire() {
    if (!__libc_single_threaded) {
      for (int i = 0; i < 64; ++i) {
        if (pthread_mutex_trylock(&mutex_) == 0) return;
        Pause();
      }
    }
    pthread_mutex_lock(&mutex_);
  }
  void SetFrozen(bool frozen) {
    Acquire();
    frozen_ = frozen;
    pthread_mutex_unlock(&mutex_);
  }
  // Sleeps: whoever forks may have a lower priority than this thread.
  __attribute__((noinline, cold)) void AwaitThaw() {
    const int saved = errno;
    while (frozen_) {
      pthread_mutex_unlock(&mutex_);
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
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  bool frozen_ = false;  // guarded by mutex_
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
