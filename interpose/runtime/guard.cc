#include "interpose/runtime/guard.h"

#include <new>

#include "interpose/runtime/runtime.h"

namespace rdmacheck {

bool RunGuarded(Runtime& runtime, bool (*function)(void*), void* argument, bool otherwise) {
  try {
    return function(argument);
  } catch (const std::bad_alloc&) {
    runtime.CountOutOfMemory();
    return otherwise;
  }
}

}  // namespace rdmacheck
