// Counts that many threads change and few ask for: one cache line while one thread changes them, and a line for each thread
// as soon as two have met at it.
//
// Threads: any. A sum that is taken while others count is one that the count had, or more, never less.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/base/single_threaded.h"

namespace rdmacheck {

inline constexpr uint32_t kStripes = 32;

// Threads that live at one time have different ones, as far as they reach (ledger/threads.cc).
extern thread_local uint32_t stripe_of_this_thread __attribute__((tls_model("initial-exec")));

struct alignas(64) Stripe {
  std::atomic<uint64_t> up{0}, down{0};
};

struct Stripes {
  Stripe of[kStripes];
  Stripe& Mine() { return of[stripe_of_this_thread]; }

  // What went down is read first: of two changes that are under way only the one upward can be seen alone.
  uint64_t Sum() const {
    uint64_t down = 0, up = 0;
    for (const Stripe& stripe : of) down += stripe.down.load(std::memory_order_seq_cst);
    for (const Stripe& stripe : of) up += stripe.up.load(std::memory_order_seq_cst);
    return up - down;
  }
};

// Counts up only.
class StripedCount {
 public:
  StripedCount() = default;
  StripedCount(const StripedCount&) = delete;
  StripedCount& operator=(const StripedCount&) = delete;

  void Add() {
    Stripes* const stripes = stripes_.load(std::memory_order_acquire);
    if (__builtin_expect(stripes == nullptr, true)) {
      uint64_t seen = base_.load(std::memory_order_relaxed);
      if (SingleThreaded()) {
        base_.store(seen + 1, std::memory_order_relaxed);
        return;
      }
      if (__builtin_expect(base_.compare_exchange_strong(seen, seen + 1, std::memory_order_relaxed), true)) return;
      AddContended();
      return;
    }
    stripes->Mine().up.fetch_add(1, std::memory_order_relaxed);
  }
  uint64_t Sum() const {
    const Stripes* const stripes = stripes_.load(std::memory_order_acquire);
    return base_.load(std::memory_order_relaxed) + (stripes == nullptr ? 0 : stripes->Sum());
  }
  void Clear();  // by the only thread there is

 private:
  void AddContended();

  std::atomic<uint64_t> base_{0};
  std::atomic<Stripes*> stripes_{nullptr};  // never freed
};

}  // namespace rdmacheck
