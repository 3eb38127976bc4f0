#include "interpose/checker/guard.h"

#include <new>

#include "interpose/base/own_stack.h"
#include "interpose/checker/checker.h"

namespace rdmacheck {

namespace {

bool Try(Checker& checker, bool (*function)(void*), void* argument, bool otherwise) {
  try {
    return function(argument);
  } catch (const std::bad_alloc&) {
    checker.CountOutOfMemory();
    return otherwise;
  }
}

}  // namespace

bool RunGuarded(Checker& checker, bool (*function)(void*), void* argument, bool otherwise) {
  bool result = otherwise;
  CallWithAmpleStack([&] { result = Try(checker, function, argument, otherwise); });
  return result;
}

}  // namespace rdmacheck
