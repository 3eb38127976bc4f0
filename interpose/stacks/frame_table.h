// How a frame is left, for each return address that was met on a stack: where the caller's frame begins, and where its frame
// pointer was saved. libunwind is asked once for each address (unwind.cc); after that a step of a walk takes a load and a few
// additions.
//
// One table for all threads. An entry is one word, so that none is ever read half written; no locks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rdmacheck {

class FrameRule {
 public:
  enum Base : uint32_t {
    kSpecial,  // not known, the outermost frame, or one that only libunwind can leave
    kStack,    // the caller's frame begins so far above the stack pointer
    kFrame,    // so far above the frame pointer
    kStored,   // at the address that was stored so far below the frame pointer (a frame that the compiler realigned)
  };
  // Of SavedFrame: nowhere, or where the frame pointer points to. Else so many words below the caller's frame.
  static constexpr uint32_t kNotSaved = 0, kSavedAtFrame = 15;
  static constexpr uint32_t kBits = 28, kMostWords = (1u << 21) - 1;

  constexpr FrameRule() = default;
  constexpr explicit FrameRule(uint32_t bits) : bits_(bits) {}
  constexpr FrameRule(Base base, uint32_t words, uint32_t saved) : bits_(saved << 24 | words << 3 | base) {}
  static constexpr FrameRule Outermost() { return FrameRule(kSpecial, 0, 1); }
  static constexpr FrameRule Unusual() { return FrameRule(kSpecial, 0, 2); }

  uint32_t bits() const { return bits_; }
  bool known() const { return bits_ != 0; }
  bool operator==(FrameRule other) const { return bits_ == other.bits_; }
  Base base() const { return static_cast<Base>(bits_ & 3); }
  uint32_t saved_frame() const { return bits_ >> 24; }
  size_t offset() const { return bits_ & 0xfffff8; }  // bytes

 private:
  uint32_t bits_ = 0;
};

class FrameTable {
 public:
  // What is known of the frame that this return address leads to; not known() if nothing is.
  static FrameRule Find(uintptr_t pc) {
    const uintptr_t high = pc >> kSetBits;
    const std::atomic<uint64_t>* const set = sets[SetOf(pc)];
    for (size_t i = 0; i < kWays; ++i) {
      const uint64_t word = set[i].load(std::memory_order_relaxed);
      const uint64_t rest = word ^ static_cast<uint64_t>(high) << FrameRule::kBits;
      if (__builtin_expect(rest >> FrameRule::kBits == 0, true)) return FrameRule(static_cast<uint32_t>(rest));
      if (word == 0) break;
    }
    return FrameRule();
  }
  static void Add(uintptr_t pc, FrameRule rule);

  // Libraries that are unloaded take their addresses along: others may come to lie there. While one goes, nothing in the table
  // holds; what was learnt of stacks before has another number than what is learnt after.
  static uint64_t Now() { return state.load(std::memory_order_acquire); }
  static bool Holds(uint64_t now) { return now >> 32 == 0; }
  static void BeginUnload();
  static void EndUnload();
  static void ForkChild();

 private:
  static constexpr uint32_t kSetBits = 11;
  static constexpr size_t kSets = 1u << kSetBits, kWays = 8;
  // With the high bits of an address, which a word holds, the number of its set says what the low ones are.
  static size_t SetOf(uintptr_t pc) { return (pc ^ pc >> kSetBits) & (kSets - 1); }
  static void Clear();

  alignas(64) static std::atomic<uint64_t> sets[kSets][kWays];
  static std::atomic<uint64_t> state;  // above: how many libraries are being unloaded. Below: how many were
};

}  // namespace rdmacheck
