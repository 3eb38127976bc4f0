#include "interpose/hooks/context_table.h"

#include <cstdint>
#include <new>

namespace rdmacheck {
namespace {

constexpr size_t kBuckets = 1024;
std::atomic<ContextSlots*> buckets[kBuckets];

std::atomic<ContextSlots*>& BucketOf(const ibv_context* context) {
  const uint64_t h = reinterpret_cast<uintptr_t>(context) * 0x9E3779B97F4A7C15u;
  return buckets[h >> 54];
}

}  // namespace

ContextSlots* FindContextSlots(const ibv_context* context) {
  ContextSlots* at = BucketOf(context).load(std::memory_order_acquire);
  while (at != nullptr && at->context != context) at = at->next;
  return at;
}

ContextSlots* FindOrAddContextSlots(const ibv_context* context) {
  if (ContextSlots* known = FindContextSlots(context)) return known;
  ContextSlots* fresh = new (std::nothrow) ContextSlots;
  if (fresh == nullptr) return nullptr;
  fresh->context = context;
  std::atomic<ContextSlots*>& bucket = BucketOf(context);
  fresh->next = bucket.load(std::memory_order_relaxed);
  while (!bucket.compare_exchange_weak(fresh->next, fresh, std::memory_order_acq_rel)) {
  }
  return fresh;
}

}  // namespace rdmacheck
