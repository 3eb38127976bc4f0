// What a program that asks dlsym for a verb gets from us (hooks/dlsym_entry.c, which is part of this library too), and
// what the checker asks: before it, it is the checker that answers dlsym.
#include <dlfcn.h>
#include <string.h>

#include "interpose/fault/hook_for.h"
#include "interpose/hooks/dlsym_hook.h"
#include "interpose/libraries/elf_lookup.h"
#include "report/modules.h"

namespace rdmacheck::fault {
namespace {

// The checker hands our hooks on to those who ask it, so that it stands before them as it does before exported ones.
bool IsBehindChecker() {
  static const bool is = AskFor(RTLD_DEFAULT, "rdmacheck_private_active") != nullptr;
  return is;
}

// Is it a function of a library of rdma-core, and not of a stub that has the same names?
bool LiesInRdmaCore(const void* function) {
  Dl_info info;
  return dladdr(function, &info) != 0 && info.dli_fname != nullptr && IsOfRdmaCore(LastPart(info.dli_fname));
}

}  // namespace
}  // namespace rdmacheck::fault

extern "C" {

int rdmacheck_is_missing(const char* name, const char* version) {
  return !rdmacheck::fault::IsBehindChecker() && rdmacheck::fault::LibraryLacks(name, version) ? 1 : 0;
}

void* rdmacheck_redirect(void* handle, const char* name, const char* version, void* real) {
  using namespace rdmacheck::fault;
  if (IsBehindChecker() || !HasRow(name, version) || !LiesInRdmaCore(real)) return real;
  (void)handle;
  return HookFor(name, version, real);
}

// ---- for the checker

__attribute__((visibility("default"), used)) void* rdmafault_hook_for(const char* name, const char* version, void* real) {
  return rdmacheck::fault::HookFor(name, version, real);
}
__attribute__((visibility("default"), used)) int rdmafault_library_lacks(const char* name, const char* version) {
  return rdmacheck::fault::LibraryLacks(name, version) ? 1 : 0;
}
}
