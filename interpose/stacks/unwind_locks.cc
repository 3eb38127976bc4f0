// The locks inside libunwind, as it takes them: pthread's names, which the linker sends here (--wrap; interpose/CMakeLists.txt).
//
// Its per-thread cache is freed in the last round of thread-specific destructors, under a mutex: the pthread functions that
// ThreadSanitizer brings have forgotten the thread by then, and crash. A forked child must find no lock taken. And signals
// need not be blocked: a handler that calls a verb while its thread is in here is not judged (hooks/reentry.h), and one that
// jumps away is noticed (UnwinderLeftBy).
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <new>

#include "interpose/base/quiet_lock.h"
#include "interpose/stacks/frame_table.h"
#include "interpose/stacks/unwind.h"

namespace rdmacheck {
namespace {

static_assert(sizeof(Mutex) <= sizeof(pthread_mutex_t), "a Mutex takes the place of a pthread_mutex_t");

// All that libunwind uses: a handful, and static.
constexpr size_t kMost = 32;
std::atomic<Mutex*> known[kMost];
Mutex once_mutex;
std::atomic<bool> torn{false};

Mutex* Known(pthread_mutex_t* mutex) {
  auto* ours = reinterpret_cast<Mutex*>(mutex);
  for (std::atomic<Mutex*>& place : known) {
    Mutex* at = place.load(std::memory_order_acquire);
    if (at == ours) return ours;
    if (at == nullptr && (place.compare_exchange_strong(at, ours) || at == ours)) return ours;
  }
  return ours;
}

template <class F>
void ForEach(F f) {
  f(&once_mutex);
  for (std::atomic<Mutex*>& place : known) {
    if (Mutex* mutex = place.load(std::memory_order_acquire)) f(mutex);
  }
}

}  // namespace

bool UnwinderIsTorn() { return torn.load(std::memory_order_relaxed); }
void UnwinderForkPrepare() {
  ForEach([](Mutex* mutex) { mutex->Freeze(); });
}
void UnwinderForkParent() {
  ForEach([](Mutex* mutex) { mutex->Thaw(); });
}
void UnwinderForkChild() {
  FrameTable::ForkChild();
  ForEach([](Mutex* mutex) {
    if (mutex->Renew()) torn.store(true);
  });
}
void UnwinderLeftBy(uint32_t thread) {
  ForEach([thread](Mutex* mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (!mutex->TakeFrom(thread)) return;
    ForgetCode();
    mutex->Unlock();
  });
}

}  // namespace rdmacheck

extern "C" {
int __wrap_pthread_mutex_init(pthread_mutex_t* mutex, const pthread_mutexattr_t*) {
  new (mutex) rdmacheck::Mutex;
  return 0;
}
int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  rdmacheck::Known(mutex)->Lock();
  return 0;
}
int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  reinterpret_cast<rdmacheck::Mutex*>(mutex)->Unlock();
  return 0;
}
int __wrap_pthread_once(pthread_once_t* control, void (*routine)(void)) {
  if (__atomic_load_n(control, __ATOMIC_ACQUIRE) != 0) return 0;
  rdmacheck::QuietLock lock(&rdmacheck::once_mutex);
  if (*control == 0) {
    routine();
    __atomic_store_n(control, 1, __ATOMIC_RELEASE);
  }
  return 0;
}
int __wrap_sigprocmask(int, const sigset_t*, sigset_t* before) {
  if (before != nullptr) sigemptyset(before);
  return 0;
}
}
