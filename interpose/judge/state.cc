#include "interpose/judge/state.h"

namespace rdmacheck {
namespace {

template <class T>
void Copy(const std::atomic<T>& from, std::atomic<T>* to) {
  to->store(from.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void Copy(const FirstRegistration& from, FirstRegistration* to) {
  Copy(from.verb, &to->verb);
  Copy(from.stack, &to->stack);
  Copy(from.serial, &to->serial);
  Copy(from.when, &to->when);
  Copy(from.thread, &to->thread);
}

void Copy(const FailedCreate& from, FailedCreate* to) {
  Copy(from.verb, &to->verb);
  Copy(from.error, &to->error);
  Copy(from.stack, &to->stack);
}

}  // namespace

JudgeState* MakeJudgeState(const JudgeState* parents) {
  auto* state = new JudgeState;
  if (parents == nullptr) return state;
  Copy(parents->first_mr, &state->first_mr);
  Copy(parents->first_queue, &state->first_queue);
  for (size_t kind = 0; kind < kKindCount; ++kind) Copy(parents->failed_creates[kind], &state->failed_creates[kind]);
  return state;
}

}  // namespace rdmacheck
