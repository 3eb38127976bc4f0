// The process's id without a system call for each text.
#pragma once

#include <unistd.h>

#include <atomic>

namespace rdmacheck {

namespace internal {
inline std::atomic<int> process_id{0};
}  // namespace internal

inline int ProcessId() {
  int known = internal::process_id.load(std::memory_order_relaxed);
  if (known == 0) {
    known = getpid();
    internal::process_id.store(known, std::memory_order_relaxed);
  }
  return known;
}
// In a forked child.
inline void ForgetProcessId() { internal::process_id.store(0, std::memory_order_relaxed); }

}  // namespace rdmacheck
