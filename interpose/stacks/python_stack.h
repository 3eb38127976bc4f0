// The Python frames that lead to a call, as far as they can be had without running any Python code.
//
// Taken only by a thread that holds the GIL, called by the interpreter's loop with no signal handler and no fork() between,
// and not while the interpreter ends. Each distinct stack is kept once, with its strings copied: no object of Python's is
// held, so none lives longer or dies otherwise than without us.
//
// Threads: any; no locks. Never freed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rdmacheck {

struct PythonFrame {
  const char* function = "";  // equal strings are one
  const char* file = "";
  int line = 0;
};

struct PythonStack {
  PythonStack* next = nullptr;
  uint64_t hash = 0;
  size_t depth = 0;
  PythonFrame* frames = nullptr;  // innermost first
};

// What the stack of C frames says: does the interpreter call, in a moment in which it may be asked?
enum class CalledBy : uint8_t { kUnknown, kPython, kHandler };
CalledBy CallerOf(void* const* pcs, size_t depth);

// Of the calling thread, which CallerOf() says is called by Python; null: there are none, or they cannot be had. errno stays.
const PythonStack* TakePythonStack(size_t depth);

}  // namespace rdmacheck
