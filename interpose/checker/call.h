// One call of a verb on its way through the checker, and what is known of its arguments.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "interpose/ledger/entry.h"
#include "interpose/stacks/stack_depot.h"
#include "interpose/ledger/threads.h"
#include "interpose/stacks/unwind.h"

namespace rdmacheck {

class Checker;

// An object among the arguments of a verb.
struct Argument {
  Kind kind = Kind::kNone;
  uintptr_t handle = 0;
  bool required = true;  // NULL here is a bug of the program
};
using Arguments = absl::InlinedVector<Argument, 8>;
using Pins = absl::InlinedVector<Slot, 8>;

class Call {
 public:
  Call(Checker& checker, const char* verb, Kind creates, const CallPoint& point);
  const char* verb() const { return verb_; }
  Kind creates() const { return creates_; }
  Checker& checker() const { return checker_; }
  ThreadRecord* self() const { return self_; }
  const CallPoint& point() const { return point_; }
  int32_t tid() const { return self_ == nullptr ? 0 : self_->tid.load(std::memory_order_relaxed); }
  // The stack that leads to this call; taken at the first question. Null when the depot is full.
  StackDepot::Node* Stack();
  // The same stack as the birthplace of a kind: a call that brings several (an event and its id) counts them apart.
  StackDepot::Node* StackFor(Kind kind);
  uint32_t StackId() {
    StackDepot::Node* node = Stack();
    return node == nullptr ? 0 : node->id;
  }
  // One more watched call of this thread.
  void Count() {
    if (self_ == nullptr) return;
    const uint64_t calls = self_->calls.load(std::memory_order_relaxed) + 1;
    self_->calls.store(calls, std::memory_order_relaxed);
    if (journal::ThreadRow* row = ThreadRowOf(self_)) row->calls.store(calls, std::memory_order_relaxed);
  }
  // Kept where it is found if the thread leaves by a jump before all is noted (ForgetCallUnderWay).
  void SetReturned(Returned returned) {
    if (self_ != nullptr) self_->returned = returned;
  }
  // Made between rdmacheck_disable() and rdmacheck_enable(): remembered, never judged.
  bool ignored() const { return self_ != nullptr && self_->disabled > 0; }

 private:
  StackDepot::Node* TakeStackOfC();
  void AddPython();

  const char* const verb_;
  const Kind creates_;
  const CallPoint point_;  // where the program's frames begin
  Checker& checker_;
  ThreadRecord* const self_;
  StackDepot::Node* stack_ = nullptr;
  bool taken_ = false;
};

}  // namespace rdmacheck
