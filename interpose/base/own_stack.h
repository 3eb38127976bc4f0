// Stacks of our own, for work that a small stack of the program's would not bear: threads of 16 KiB call verbs too.
//
// Threads: any. A stack is mapped when the first thread needs one, with a guard page, and used again by others. A thread
// that jumps away while it is on one gives it back when that is noticed (checker/jump.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "interpose/base/stack_bounds.h"

namespace rdmacheck {

// Calls function(argument) on a stack of ours; on the caller's where none can be had. Nothing may be thrown out of it.
void CallOnOwnStack(void (*function)(void*), void* argument);

// The same only where the caller's stack is short.
template <class F>
void CallWithAmpleStack(F&& function) {
  if (__builtin_expect(HasAmpleStack(), true)) {
    function();
    return;
  }
  CallOnOwnStack([](void* f) { (*static_cast<std::remove_reference_t<F>*>(f))(); }, &function);
}

// Does this address lie on one of them? Its owner is then in the middle of our own code.
bool IsOnOwnStack(uintptr_t address);

void OwnStacksForkChild();
// That thread has jumped out of all that it was in here, and is on none of them.
void OwnStacksLeftBy(uint32_t thread);

}  // namespace rdmacheck
