// Stacks that a thread takes again and again, recognised without walking them: a walk notes the words that it went by
// (Trace), and where these hold the same values again, the stack is the same. Some 20 comparisons instead of a walk and a look
// into the depot.
//
// Belongs to one thread; no locks.
#pragma once

#include "interpose/stacks/stack_depot.h"
#include "interpose/stacks/unwind.h"

namespace rdmacheck {

class StackMemo {
 public:
  // For stacks of so many frames. Null: memory is out.
  static StackMemo* Make(size_t frames);
  StackMemo(const StackMemo&) = delete;
  StackMemo& operator=(const StackMemo&) = delete;

  // Null: not known here, or no longer so.
  StackDepot::Node* Recall(const CallPoint& point, const char* verb);
  // What was walked last (trace()) began at that point, and is this stack. It is kept once the point comes again; where it
  // did not last, ever more rarely.
  void Note(const CallPoint& point, const char* verb, StackDepot::Node* node);

  Trace& trace() { return trace_; }
  StackBounds* beyond() { return &beyond_; }

 private:
  static constexpr size_t kEntries = 32;
  static constexpr uint16_t kMostMisses = 4, kRarely = 16, kStays = 8;
  struct Entry {
    CallPoint point;
    const char* verb = nullptr;
    StackDepot::Node* node = nullptr;  // null: no words yet
    uintptr_t* value = nullptr;        // and behind them, where they lie
    uint32_t words = 0, room = 0;
    uint32_t state = 0;   // FrameTable::Now()
    uint16_t misses = 0;  // since it was recalled
    uint16_t stays = 0;   // so many other points come before one takes its place

    const uintptr_t** at() const { return reinterpret_cast<const uintptr_t**>(value + room); }
  };

  StackMemo() = default;
  Entry& EntryOf(const CallPoint& point) {
    return entries_[(reinterpret_cast<uintptr_t>(point.caller) ^ point.stack << 20) * 0x9E3779B97F4A7C15u >> 59];
  }

  Trace trace_;
  StackBounds beyond_;
  Entry entries_[kEntries];
};

}  // namespace rdmacheck
