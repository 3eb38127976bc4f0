#include "interpose/stacks/frame_table.h"

namespace rdmacheck {

alignas(64) std::atomic<uint64_t> FrameTable::sets[kSets][kWays];
std::atomic<uint64_t> FrameTable::state{0};

void FrameTable::Add(uintptr_t pc, FrameRule rule) {
  const uintptr_t high = pc >> kSetBits;
  if (high >> (64 - FrameRule::kBits) != 0 || !Holds(Now())) return;
  const uint64_t word = static_cast<uint64_t>(high) << FrameRule::kBits | rule.bits();
  std::atomic<uint64_t>* const set = sets[SetOf(pc)];
  for (size_t i = 0; i < kWays; ++i) {
    uint64_t there = set[i].load(std::memory_order_relaxed);
    if (there == 0 && set[i].compare_exchange_strong(there, word, std::memory_order_relaxed)) return;
    if (there >> FrameRule::kBits == high) return;
  }
  set[high % kWays].store(word, std::memory_order_relaxed);
}

void FrameTable::Clear() {
  for (auto& set : sets) {
    for (std::atomic<uint64_t>& word : set) {
      if (word.load(std::memory_order_relaxed) != 0) word.store(0, std::memory_order_relaxed);
    }
  }
}

void FrameTable::BeginUnload() { state.fetch_add(uint64_t{1} << 32, std::memory_order_acq_rel); }

void FrameTable::EndUnload() {
  Clear();
  state.fetch_sub((uint64_t{1} << 32) - 1, std::memory_order_acq_rel);
}

// The thread that was unloading one is not here.
void FrameTable::ForkChild() {
  const uint64_t now = Now();
  if (Holds(now)) return;
  Clear();
  state.store((now & 0xffffffffu) + 1, std::memory_order_release);
}

}  // namespace rdmacheck
