// all_verbs.def → exported symbols, as in hooks/plt_hooks.cc, and what dlsym gives out for a handle.
#include <string.h>

#include "interpose/fault/forward.h"
#include "interpose/fault/hook_for.h"
#include "interpose/hooks/parameters.h"

namespace rdmacheck::fault {
namespace {

template <class Row, class Fn>
struct HandleHook;
template <class Row, class R, class... A>
struct HandleHook<Row, R (*)(A...)> {
  static R Call(A... a) { return Forward<Row>(InLibrary<Row>(), a...); }
};

const NamedRow* FindVersion(const char* name, const char* version) {
  const NamedRow* const row = FindRow<HandleHook>(name);
  return row == nullptr || version == nullptr || strcmp(version, row->version) == 0 ? row : nullptr;
}

}  // namespace

bool HasRow(const char* name, const char* version) { return FindVersion(name, version) != nullptr; }

bool LibraryLacks(const char* name, const char* version) {
  const NamedRow* const row = FindVersion(name, version);
  return row != nullptr && FindReal(row->library, row->name, row->version) == nullptr;
}

void* HookFor(const char* name, const char* version, void* real) {
  const NamedRow* const row = FindVersion(name, version);
  if (row == nullptr) return real;
  void* known = nullptr;
  // A second copy of the library is left alone.
  if (!row->real->in_library.compare_exchange_strong(known, real) && known != real) return real;
  return row->handle_hook;
}

}  // namespace rdmacheck::fault

#define PLT_VERB(library, version, symbol, argc, ...)                                                              \
  static_assert(::rdmacheck::ResultOf<decltype(&::symbol)>::kArity == argc, "argc of " #symbol);                   \
  extern "C" __attribute__((visibility("default"), used)) typename ::rdmacheck::ResultOf<decltype(&::symbol)>::type \
      rdmafault_##symbol(RDMACHECK_P##argc(symbol)) {                                                              \
    using Row = ::rdmacheck::PltRow_##symbol;                                                                      \
    return ::rdmacheck::fault::Forward<Row>(::rdmacheck::NextOf<Row>() RDMACHECK_A##argc);                         \
  }                                                                                                                \
  __asm__(".symver rdmafault_" #symbol "," #symbol "@@" version);
#define SLOT_VERB(symbol, slot, ...)
#include "interpose/effects/all_verbs.def"
#undef PLT_VERB
#undef SLOT_VERB
