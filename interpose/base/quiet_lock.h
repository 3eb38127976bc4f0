// For what is locked now and then: signals and cancellation wait meanwhile, so that no handler of the program jumps away and
// leaves it half done. What every call locks cannot afford that; it is put in order afterwards (checker/jump.h).
#pragma once

#include "interpose/base/mutex.h"
#include "report/quiet_scope.h"

namespace rdmacheck {

class ABSL_SCOPED_LOCKABLE QuietLock {
 public:
  explicit QuietLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) { mutex_->Lock(); }
  ~QuietLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  QuietLock(const QuietLock&) = delete;
  QuietLock& operator=(const QuietLock&) = delete;

 private:
  QuietScope quiet_;  // begins first and ends last
  Mutex* mutex_;
};

}  // namespace rdmacheck
