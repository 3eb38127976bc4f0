// A mutex that clang's thread-safety analysis understands, that costs nothing at load, and that a forked child can
// make anew. absl::Mutex would bring its deadlock detector and its constructors into every process of the user.
#pragma once

#include <pthread.h>
#include <sys/single_threaded.h>

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
    if (!__libc_single_threaded) {
      for (int i = 0; i < 64; ++i) {
        if (pthread_mutex_trylock(&mutex_) == 0) return;
        Pause();
      }
    }
    pthread_mutex_lock(&mutex_);
  }
  void Unlock() ABSL_UNLOCK_FUNCTION() { pthread_mutex_unlock(&mutex_); }
  // In a forked child, where the thread that held it does not exist.
  void Renew() { new (&mutex_) pthread_mutex_t(PTHREAD_MUTEX_INITIALIZER); }

 private:
  static void Pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
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
