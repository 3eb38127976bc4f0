// Finds an entry of a shard by its handle: a hash table of indices, 4 bytes a cell, that compares through the entries.
//
// A cell holds the index of an entry and twelve bits of its hash, so that an entry that is not meant is rarely looked at. No
// locks: it is used under the shard's mutex.
#pragma once

#include <cstdint>
#include <memory>

namespace rdmacheck {

class HandleIndex {
 public:
  static constexpr uint32_t kIndexBits = 20;  // index 0 is none

  // The cell of the entry for which is(index) holds, or null.
  template <class Is>
  uint32_t* Find(uint64_t hash, Is is) const {
    if (cells_ == nullptr) return nullptr;
    const uint32_t tag = TagOf(hash);
    for (uint32_t at = HomeOf(hash) & mask_;; at = (at + 1) & mask_) {
      const uint32_t cell = cells_[at];
      if (cell == kEmpty) return nullptr;
      if ((cell & kTagMask) == tag && cell != kGone && is(IndexIn(cell))) return &cells_[at];
    }
  }
  static uint32_t IndexIn(uint32_t cell) { return cell & kIndexMask; }
  static void Replace(uint32_t* cell, uint32_t index) { *cell = (*cell & kTagMask) | index; }

  // Room for one more. Throws where memory is out; then nothing is changed. hash_of(index) is asked when it grows.
  template <class HashOf>
  void Reserve(HashOf hash_of) {
    if (__builtin_expect((used_ + 1) * 4 > (mask_ + 1) * 3 || cells_ == nullptr, false)) Grow(hash_of);
  }
  // There is room (Reserve), and nothing equal.
  void Insert(uint64_t hash, uint32_t index) {
    uint32_t at = HomeOf(hash) & mask_;
    while (cells_[at] != kEmpty && cells_[at] != kGone) at = (at + 1) & mask_;
    used_ += cells_[at] == kEmpty;
    cells_[at] = TagOf(hash) | index;
    ++size_;
  }
  void Erase(uint32_t* cell) {
    --size_;
    uint32_t at = static_cast<uint32_t>(cell - cells_.get());
    if (cells_[(at + 1) & mask_] != kEmpty) {
      cells_[at] = kGone;  // others may lie behind it
      return;
    }
    for (;;) {
      cells_[at] = kEmpty;
      --used_;
      at = (at - 1) & mask_;
      if (cells_[at] != kGone) return;
    }
  }

 private:
  static constexpr uint32_t kIndexMask = (1u << kIndexBits) - 1, kTagMask = ~kIndexMask;
  static constexpr uint32_t kEmpty = 0, kGone = kTagMask;  // index 0 is no entry's
  static uint32_t TagOf(uint64_t hash) { return static_cast<uint32_t>(hash >> 32) & kTagMask; }
  static uint32_t HomeOf(uint64_t hash) { return static_cast<uint32_t>(hash >> 7); }  // the lowest bits chose the shard

  template <class HashOf>
  __attribute__((noinline)) void Grow(HashOf hash_of) {
    uint32_t capacity = 16;
    while (capacity < (size_ + 1) * 2) capacity *= 2;
    std::unique_ptr<uint32_t[]> old(new uint32_t[capacity]());
    const uint32_t before = cells_ == nullptr ? 0 : mask_ + 1;
    old.swap(cells_);
    mask_ = capacity - 1;
    size_ = used_ = 0;
    for (uint32_t at = 0; at < before; ++at) {
      if (IndexIn(old[at]) != 0) Insert(hash_of(IndexIn(old[at])), IndexIn(old[at]));
    }
  }

  std::unique_ptr<uint32_t[]> cells_;
  uint32_t mask_ = 0;
  uint32_t size_ = 0;  // indices in it
  uint32_t used_ = 0;  // cells that are not empty
};

}  // namespace rdmacheck
