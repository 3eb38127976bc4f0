// What librdmafault.so calls (fault/teller.cc), from inside the call that it makes fail.
#include "interpose/checker/guard.h"
#include "interpose/checker/injected.h"
#include "interpose/hooks/the_checker.h"

// The call's stack is pcs[0..depth). `verb` has to stay where it is. `device`: lost, or null; `sentence`: to be said, or null.
extern "C" __attribute__((visibility("default"), used)) void rdmacheck_private_fault_injected(
    const char* fault, const char* verb, uint64_t number, int error, void* const* pcs, size_t depth, const char* device,
    const char* sentence) {
  rdmacheck::Checker* const checker = rdmacheck::TheChecker();
  if (checker == nullptr) return;
  rdmacheck::Guarded(*checker, [&] {
    rdmacheck::InjectedFault injected;
    injected.fault = fault;
    injected.verb = verb;
    injected.call = number;
    injected.result = error;
    injected.device = device == nullptr ? "" : device;
    const rdmacheck::StackDepot::Node* const stack =
        depth == 0 ? nullptr : checker->depot().Put(verb, rdmacheck::Kind::kNone, pcs, depth);
    if (stack != nullptr) injected.stack = stack->id;
    rdmacheck::NoteInjected(checker->reporter(), std::move(injected), sentence);
  });
}
