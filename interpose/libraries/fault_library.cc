#include "interpose/libraries/fault_library.h"

#include <dlfcn.h>

#include "interpose/libraries/elf_lookup.h"

namespace rdmacheck {
namespace {

// A library that was preloaded is there before any verb, and stays.
template <class Fn>
Fn Ask(const char* name) {
  return reinterpret_cast<Fn>(AskFor(RTLD_NEXT, name));
}

}  // namespace

void* FaultHookFor(const char* name, const char* version, void* real) {
  static const auto hook_for = Ask<void* (*)(const char*, const char*, void*)>("rdmafault_hook_for");
  return hook_for == nullptr ? real : hook_for(name, version, real);
}

bool FaultLibraryLacks(const char* name, const char* version) {
  static const auto lacks = Ask<int (*)(const char*, const char*)>("rdmafault_library_lacks");
  return lacks != nullptr && lacks(name, version) != 0;
}

}  // namespace rdmacheck
