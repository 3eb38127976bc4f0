// Catches what is thrown when memory is out, so that it goes no further than the call it happened in.
//
// The hooks are compiled without exceptions: a thread that is cancelled inside a verb unwinds through their frames, with the
// unwinder of the program. What they call is compiled with them, and locks are given back on the way out.
//
// Also moves to a stack of ours where the caller's is short: a demangler of long names alone takes more than a small stack has.
#pragma once

#include <type_traits>

namespace rdmacheck {

class Checker;

// Returns `otherwise` where memory was out, which is counted and reported once.
bool RunGuarded(Checker& checker, bool (*function)(void*), void* argument, bool otherwise);

// What `function` returns, or `otherwise` where memory was out.
template <class F>
bool Guarded(Checker& checker, bool otherwise, F&& function) {
  return RunGuarded(
      checker, [](void* f) { return static_cast<bool>((*static_cast<std::remove_reference_t<F>*>(f))()); }, &function, otherwise);
}
// For one that returns nothing.
template <class F>
void Guarded(Checker& checker, F&& function) {
  Guarded(checker, true, [&] {
    function();
    return true;
  });
}

}  // namespace rdmacheck
