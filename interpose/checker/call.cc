#include "interpose/checker/call.h"

#include <new>

#include "interpose/stacks/stack_memo.h"
#include "interpose/checker/checker.h"

namespace rdmacheck {

Call::Call(Checker& checker, const char* verb, Kind creates, void* caller)
    : verb_(verb), creates_(creates), caller_(caller), checker_(checker), self_(ThisThread()) {
  if (self_ != nullptr) self_->injected = 0;
}

StackDepot::Node* Call::Stack() {
  if (taken_) return stack_;
  taken_ = true;
  const Options& options = checker_.options();
  void* pcs[kMaxFrames];
  size_t depth = 1;
  pcs[0] = caller_;
  // stack_depth=0 takes no stack; the direct caller is known for nothing, and says which library an object belongs to.
  if (options.stack_depth > 0) {
    const UnwindBy by = options.unwinder == Unwinder::kLibunwind ? UnwindBy::kLibunwind
                        : options.unwinder == Unwinder::kFp      ? UnwindBy::kFramePointers
                                                                 : UnwindBy::kNone;
    CallPoint point = point_;
    if (by == UnwindBy::kLibunwind && self_ != nullptr && (point.caller != nullptr || FindCallPoint(caller_, &point))) {
      if (self_->memo == nullptr) self_->memo = new (std::nothrow) StackMemo;
      if (self_->memo != nullptr) stack_ = self_->memo->Recall(point, verb_);
      if (stack_ != nullptr) return stack_;
      depth = TakeStackFrom(point, pcs, static_cast<size_t>(options.stack_depth));
      if (depth > 0 && self_->memo != nullptr) {
        stack_ = checker_.depot().Put(verb_, creates_, pcs, depth);
        if (stack_ != nullptr) self_->memo->Note(point, verb_, stack_);
        return stack_;
      }
    }
    depth = TakeStack(by, caller_, pcs, static_cast<size_t>(options.stack_depth));
  }
  stack_ = checker_.depot().Put(verb_, creates_, pcs, depth);
  return stack_;
}

void Call::PrepareStack() {
  if (checker_.options().unwinder != Unwinder::kLibunwind || !FindCallPoint(caller_, &point_)) Stack();
}

StackDepot::Node* Call::StackFor(Kind kind) {
  StackDepot::Node* node = Stack();
  if (node == nullptr || kind == node->kind) return node;
  return checker_.depot().Put(verb_, kind, node->pcs, node->depth);
}

}  // namespace rdmacheck
