// all_verbs.def → exported symbols, as in hooks/plt_hooks.cc, and what dlsym gives out for a handle.
#include <string.h>

#include <atomic>

#include "interpose/fault/forward.h"
#include "interpose/fault/hook_for.h"
#include "interpose/hooks/parameters.h"

namespace rdmacheck::fault {
namespace {

struct Pointers {
  std::atomic<void*> next{nullptr};        // behind the exported function
  std::atomic<void*> in_library{nullptr};  // behind what was given out for a handle
};
template <class Row>
Pointers pointers;

template <class Row>
typename Row::Fn Next() {
  void* real = pointers<Row>.next.load(std::memory_order_acquire);
  if (real == nullptr) {
    const int saved = errno;
    real = FindReal(Row::kLibrary, Row::kName, Row::kVersion);
    if (real != nullptr) pointers<Row>.next.store(real, std::memory_order_release);
    errno = saved;
  }
  return reinterpret_cast<typename Row::Fn>(real);
}

template <class Row, class Fn = typename Row::Fn>
struct HandleHook;
template <class Row, class R, class... A>
struct HandleHook<Row, R (*)(A...)> {
  static R Call(A... a) {
    return Forward<Row>(reinterpret_cast<typename Row::Fn>(pointers<Row>.in_library.load(std::memory_order_acquire)), a...);
  }
};

struct NamedRow {
  const char* name;
  const char* version;
  Library library;
  Pointers* pointers;
  void* handle_hook;
};
template <class Row>
NamedRow Name() {
  return {Row::kName, Row::kVersion, Row::kLibrary, &pointers<Row>, reinterpret_cast<void*>(&HandleHook<Row>::Call)};
}

const NamedRow* FindRow(const char* name, const char* version) {
  static const NamedRow kRows[] = {
#define PLT_VERB(library, version, symbol, argc, ...) Name<PltRow_##symbol>(),
#define SLOT_VERB(symbol, slot, ...)
#include "interpose/effects/all_verbs.def"
#undef PLT_VERB
#undef SLOT_VERB
  };
  for (const NamedRow& row : kRows) {
    if (strcmp(row.name, name) == 0) return version == nullptr || strcmp(version, row.version) == 0 ? &row : nullptr;
  }
  return nullptr;
}

}  // namespace

bool HasRow(const char* name, const char* version) { return FindRow(name, version) != nullptr; }

bool LibraryLacks(const char* name, const char* version) {
  const NamedRow* const row = FindRow(name, version);
  return row != nullptr && FindReal(row->library, row->name, row->version) == nullptr;
}

void* HookFor(const char* name, const char* version, void* real) {
  const NamedRow* const row = FindRow(name, version);
  if (row == nullptr) return real;
  void* known = nullptr;
  // A second copy of the library is left alone.
  if (!row->pointers->in_library.compare_exchange_strong(known, real) && known != real) return real;
  return row->handle_hook;
}

}  // namespace rdmacheck::fault

#define PLT_VERB(library, version, symbol, argc, ...)                                                              \
  static_assert(::rdmacheck::ResultOf<decltype(&::symbol)>::kArity == argc, "argc of " #symbol);                   \
  extern "C" __attribute__((visibility("default"), used)) typename ::rdmacheck::ResultOf<decltype(&::symbol)>::type \
      rdmafault_##symbol(RDMACHECK_P##argc(symbol)) {                                                              \
    using Row = ::rdmacheck::fault::PltRow_##symbol;                                                               \
    return ::rdmacheck::fault::Forward<Row>(::rdmacheck::fault::Next<Row>() RDMACHECK_A##argc);                    \
  }                                                                                                                \
  __asm__(".symver rdmafault_" #symbol "," #symbol "@@" version);
#define SLOT_VERB(symbol, slot, ...)
#include "interpose/effects/all_verbs.def"
#undef PLT_VERB
#undef SLOT_VERB
