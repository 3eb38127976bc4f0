#include "interpose/stacks/stack_memo.h"

#include <algorithm>
#include <new>

namespace rdmacheck {

size_t StackMemo::IndexOf(const CallPoint& point) {
  const uint64_t h = (reinterpret_cast<uintptr_t>(point.caller) ^ point.stack << 20) * 0x9E3779B97F4A7C15u;
  return h >> 59;
}

// The saved words of the program's frames, among them redzones' neighbours: AddressSanitizer has no opinion on these.
__attribute__((no_sanitize("address"))) StackDepot::Node* StackMemo::Recall(const CallPoint& point, const char* verb) const {
  const Entry& entry = entries_[IndexOf(point)];
  if (entry.node == nullptr || !entry.Is(point, verb)) return nullptr;
  const StackWord* const end = entry.word + entry.words;
  for (const StackWord* word = entry.word; word != end; ++word) {
    if (*word->at != word->value) return nullptr;
  }
  return entry.node;
}

void StackMemo::Note(const CallPoint& point, const char* verb, StackDepot::Node* node) {
  Entry& entry = entries_[IndexOf(point)];
  if (!entry.Is(point, verb)) {
    // A point that is in use keeps its place for a while, so that two points of one place do not throw each other out.
    if (entry.node != nullptr && ++entry.misses < entry.patience) return;
    entry.point = point;
    entry.verb = verb;
    entry.node = nullptr;
    entry.words = 0;
    entry.misses = 1;
    entry.patience = kFirstPatience;
    return;
  }
  if (++entry.misses < entry.patience) return;
  entry.misses = 0;
  entry.patience = std::min(entry.patience * 2, kMostPatience);
  entry.node = nullptr;
  StackWord words[kMaxWords];
  const size_t n = FindStackWords(point.caller, node->pcs, node->depth, words, kMaxWords);
  if (n == 0) return;
  if (n > entry.room) {
    auto* room = new (std::nothrow) StackWord[n];
    if (room == nullptr) return;
    delete[] entry.word;
    entry.word = room;
    entry.room = static_cast<uint32_t>(n);
  }
  std::copy(words, words + n, entry.word);
  entry.words = static_cast<uint32_t>(n);
  entry.node = node;
}

}  // namespace rdmacheck
