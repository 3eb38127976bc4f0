// Stacks that a thread takes again and again, recognised without walking them.
//
// Where a stack leads from a given call point is decided by a few words of it (FindStackWords). A thread that comes to
// the same point again, with those words unchanged, has the same stack: some 30 comparisons instead of a walk, a hash
// and a look into the depot. The words are compared in the order in which the unwinder would read them, so nothing is
// read that it would not read.
//
// Belongs to one thread; no locks.
#pragma once

#include "interpose/stacks/stack_depot.h"
#include "interpose/stacks/unwind.h"

namespace rdmacheck {

class StackMemo {
 public:
  StackMemo() = default;
  StackMemo(const StackMemo&) = delete;
  StackMemo& operator=(const StackMemo&) = delete;

  // Null: not known here, or no longer so.
  StackDepot::Node* Recall(const CallPoint& point, const char* verb) const;
  // That point led to this stack. Finding the words costs as much as hundreds of recalls save, so it is done for points
  // that come often, and ever more rarely for those where it did not last.
  void Note(const CallPoint& point, const char* verb, StackDepot::Node* node);

 private:
  static constexpr size_t kEntries = 32, kMaxWords = 128;
  static constexpr uint32_t kFirstPatience = 8, kMostPatience = 1u << 16;
  struct Entry {
    CallPoint point;
    const char* verb = nullptr;
    StackDepot::Node* node = nullptr;  // null: no words yet
    uint32_t words = 0, room = 0;
    uint32_t misses = 0, patience = kFirstPatience;
    StackWord* word = nullptr;
    bool Is(const CallPoint& other, const char* other_verb) const {
      return point.caller == other.caller && point.stack == other.stack && point.frame == other.frame && verb == other_verb;
    }
  };
  static size_t IndexOf(const CallPoint& point);

  Entry entries_[kEntries];
};

}  // namespace rdmacheck
