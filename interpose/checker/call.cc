#include "interpose/checker/call.h"

#include <new>

#include "interpose/libraries/python.h"
#include "interpose/stacks/python_stack.h"
#include "interpose/stacks/stack_memo.h"
#include "interpose/checker/checker.h"

namespace rdmacheck {

Call::Call(Checker& checker, const char* verb, Kind creates, const CallPoint& point)
    : verb_(verb), creates_(creates), point_(point), checker_(checker), self_(ThisThread()) {
  if (self_ != nullptr) self_->injected = 0;
}

StackDepot::Node* Call::Stack() {
  if (taken_) return stack_;
  taken_ = true;
  stack_ = TakeStackOfC();
  if (stack_ != nullptr && checker_.options().python && ThePython() != nullptr) AddPython();
  return stack_;
}

// The frames of Python that lead to this call. A stack of C frames that ends before the interpreter does not say whether
// Python may be asked: then it is walked further.
void Call::AddPython() {
  const size_t depth = static_cast<size_t>(checker_.options().stack_depth);
  CalledBy by = stack_->called_by;
  if (by == CalledBy::kUnknown && stack_->depth >= depth && checker_.options().unwinder == Unwinder::kLibunwind) {
    void* pcs[kMaxFrames];
    constexpr size_t kWords = Trace::RoomForWords(kMaxFrames);
    uintptr_t value[kWords];
    const uintptr_t* at[kWords];
    Trace whole;
    whole.pcs = pcs;
    whole.value = value;
    whole.at = at;
    whole.limit = kMaxFrames;
    StackBounds beyond;
    TakeStack(UnwindBy::kLibunwind, point_, &beyond, &whole);
    by = CallerOf(pcs, whole.depth);
  }
  if (by != CalledBy::kPython) return;
  const PythonStack* const python = TakePythonStack(depth);
  if (python == nullptr) return;
  StackDepot::Node* const node = checker_.depot().Put(verb_, stack_->kind, stack_->pcs, stack_->depth, python);
  if (node != nullptr) stack_ = node;
}

StackDepot::Node* Call::TakeStackOfC() {
  const Options& options = checker_.options();
  // stack_depth=0 takes no stack; the direct caller is known for nothing, and says which library an object belongs to.
  if (self_ != nullptr && options.stack_depth > 0 && options.unwinder != Unwinder::kNone) {
    if (self_->memo == nullptr) self_->memo = StackMemo::Make(static_cast<size_t>(options.stack_depth));
    if (StackMemo* const memo = self_->memo) {
      StackDepot::Node* node = memo->Recall(point_, verb_);
      if (__builtin_expect(node != nullptr, true)) return node;
      Trace& trace = memo->trace();
      TakeStack(options.unwinder == Unwinder::kFp ? UnwindBy::kFramePointers : UnwindBy::kLibunwind, point_, memo->beyond(), &trace);
      node = checker_.depot().Put(verb_, creates_, trace.pcs, trace.depth, trace.hash, nullptr);
      if (node != nullptr) memo->Note(point_, verb_, node);
      return node;
    }
  }
  return checker_.depot().Put(verb_, creates_, &point_.caller, 1);
}

StackDepot::Node* Call::StackFor(Kind kind) {
  StackDepot::Node* node = Stack();
  if (node == nullptr || kind == node->kind) return node;
  return checker_.depot().Put(verb_, kind, node->pcs, node->depth, node->python);
}

}  // namespace rdmacheck
