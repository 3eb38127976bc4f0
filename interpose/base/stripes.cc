#include "interpose/base/stripes.h"

#include <new>

namespace rdmacheck {

thread_local uint32_t stripe_of_this_thread = 0;

void StripedCount::AddContended() {
  Stripes* stripes = stripes_.load(std::memory_order_acquire);
  if (stripes == nullptr) {
    Stripes* const fresh = new (std::nothrow) Stripes;
    if (fresh == nullptr) {
      base_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    if (stripes_.compare_exchange_strong(stripes, fresh, std::memory_order_acq_rel)) {
      stripes = fresh;
    } else {
      delete fresh;
    }
  }
  stripes->Mine().up.fetch_add(1, std::memory_order_relaxed);
}

void StripedCount::Clear() {
  base_.store(0, std::memory_order_relaxed);
  Stripes* const stripes = stripes_.load(std::memory_order_acquire);
  if (stripes == nullptr) return;
  for (Stripe& stripe : stripes->of) stripe.up.store(0, std::memory_order_relaxed);
}

}  // namespace rdmacheck
