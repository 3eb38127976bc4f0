#include "interpose/stacks/stack_memo.h"

#include <algorithm>
#include <atomic>
#include <new>

#include "interpose/stacks/frame_table.h"

namespace rdmacheck {
namespace {
// An entry is whole whenever it has a node, also where a signal handler jumps away.
void InThisOrder() { std::atomic_signal_fence(std::memory_order_seq_cst); }
}  // namespace

StackMemo* StackMemo::Make(size_t frames) {
  static_assert(alignof(StackMemo) <= alignof(uintptr_t), "what follows it is aligned");
  const size_t words = Trace::RoomForWords(frames);
  void* const room = ::operator new(sizeof(StackMemo) + (frames + 2 * words) * sizeof(uintptr_t), std::nothrow);
  if (room == nullptr) return nullptr;
  auto* const memo = new (room) StackMemo;
  Trace& trace = memo->trace_;
  trace.limit = frames;
  trace.pcs = reinterpret_cast<void**>(memo + 1);
  trace.value = reinterpret_cast<uintptr_t*>(trace.pcs + frames);
  trace.at = reinterpret_cast<const uintptr_t**>(trace.value + words);
  return memo;
}

// The saved words of the program's frames, among them redzones' neighbours: sanitizers have no opinion on these.
__attribute__((no_sanitize("address", "thread"))) StackDepot::Node* StackMemo::Recall(const CallPoint& point, const char* verb) {
  Entry& entry = EntryOf(point);
  if (entry.node == nullptr || !(entry.point == point) || entry.verb != verb || entry.state != FrameTable::Now()) return nullptr;
  const uintptr_t* value = entry.value;
  const uintptr_t* const* at = entry.at();
  auto same = [&](size_t i) { return *at[i] == value[i]; };
  size_t left = entry.words;
  for (; left >= 4; left -= 4, at += 4, value += 4) {
    if (!same(0) || !same(1) || !same(2) || !same(3)) return nullptr;
  }
  for (; left > 0; --left, ++at, ++value) {
    if (!same(0)) return nullptr;
  }
  entry.misses = 0;
  entry.stays = kStays;
  return entry.node;
}

void StackMemo::Note(const CallPoint& point, const char* verb, StackDepot::Node* node) {
  Entry& entry = EntryOf(point);
  if (!(entry.point == point) || entry.verb != verb) {
    // A point that is in use keeps its place for a while, so that two points of one place do not throw each other out.
    if (entry.stays > 0) {
      --entry.stays;
      return;
    }
    entry.node = nullptr;
    InThisOrder();
    entry.point = point;
    entry.verb = verb;
    entry.misses = 0;
    return;
  }
  ++entry.misses;
  if (entry.misses > kMostMisses && entry.misses % kRarely != 0) return;
  entry.node = nullptr;
  InThisOrder();
  if (!trace_.recognisable) return;
  if (trace_.words > entry.room) {
    auto* const room = static_cast<uintptr_t*>(
        ::operator new(2 * trace_.words * sizeof(uintptr_t), std::nothrow));
    if (room == nullptr) return;
    uintptr_t* const before = entry.value;
    entry.room = 0;
    InThisOrder();
    entry.value = room;
    InThisOrder();
    entry.room = static_cast<uint32_t>(trace_.words);
    ::operator delete(before);
  }
  std::copy(trace_.value, trace_.value + trace_.words, entry.value);
  std::copy(trace_.at, trace_.at + trace_.words, entry.at());
  entry.words = static_cast<uint32_t>(trace_.words);
  entry.state = static_cast<uint32_t>(FrameTable::Now());
  InThisOrder();
  entry.node = node;
}

}  // namespace rdmacheck
