#include "interpose/runtime/guard.h"

#include <new>

#include "interpose/ledger/own_stack.h"
#include "interpose/runtime/runtime.h"

namespace rdmacheck {

namespace {

bool Try(Runtime& runtime, bool (*function)(void*), void* argument, bool otherwise) {
  try {
    return function(argument);
  } catch (const std::bad_alloc&) {
    runtime.CountOutOfMemory();
    return otherwise;
  }
}

}  // namespace

bool RunGuarded(Runtime& runtime, bool (*function)(void*), void* argument, bool otherwise) {
  bool result = otherwise;
  CallWithAmpleStack([&] { result = Try(runtime, function, argument, otherwise); });
  return result;
}

}  // namespace rdmacheck
