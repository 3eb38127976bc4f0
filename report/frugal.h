// A program that installed a seccomp filter is killed by a system call that it did not foresee.
#pragma once

#include <atomic>

namespace rdmacheck {

namespace internal {
inline std::atomic<bool> frugal{false};
}  // namespace internal

// From now on a text is one write(2) and nothing else: no look whether the descriptor is still the same file, no wait
// for room, no masked signals; no file is opened, no memory mapped, no thread asked for its name or started. Set when the
// program installs a filter after its first verb (hooks/prctl_entry.c); never taken back.
inline void SetFrugal() { internal::frugal.store(true, std::memory_order_relaxed); }
inline bool Frugal() { return internal::frugal.load(std::memory_order_relaxed); }

}  // namespace rdmacheck
