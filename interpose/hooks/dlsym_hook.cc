#include "interpose/hooks/dlsym_hook.h"

#include <dlfcn.h>

#include <cstring>

#include "interpose/libraries/fault_library.h"
#include "interpose/hooks/plt_rows.h"

extern "C" {

int rdmacheck_is_missing(const char* name, const char* version) {
  const rdmacheck::NamedRow* row = rdmacheck::FindRow<rdmacheck::HandleHook>(name);
  if (row == nullptr || (version != nullptr && strcmp(version, row->version) != 0)) return 0;
  return rdmacheck::FindReal(row->library, row->name, row->version) != nullptr ? 0 : 1;
}

void* rdmacheck_redirect(void* handle, const char* name, const char* version, void* real) {
  using rdmacheck::RealDlvsym;
  const rdmacheck::NamedRow* row = rdmacheck::FindRow<rdmacheck::HandleHook>(name);
  if (row == nullptr) return real;
  // IBVERBS_1.0 and whatever comes after ours are other functions of the same name: theirs, not ours.
  if (version != nullptr && strcmp(version, row->version) != 0) return real;
  if (!rdmacheck::LiesIn(row->library, real)) return real;
  if (version == nullptr) {
    void* served = RealDlvsym()(handle, name, row->version);
    if (served == nullptr) dlerror();
    if (served != real) return real;
  }
  real = rdmacheck::FaultHookFor(name, row->version, real);
  void* known = nullptr;
  if (!row->real->in_library.compare_exchange_strong(known, real) && known != real) {
    if (rdmacheck::Checker* const checker = rdmacheck::TheChecker()) {
      rdmacheck::Guarded(*checker, [&] {
        checker->Unwatched(rdmacheck::Is<rdmacheck::Sentence::kSecondCopy>(rdmacheck::SonameOf(row->library)));
      });
    }
    return real;
  }
  if (rdmacheck::Checker* const checker = rdmacheck::TheChecker()) {
    checker->hooks_dlsym.fetch_add(1, std::memory_order_relaxed);
  }
  return row->handle_hook;
}
}
