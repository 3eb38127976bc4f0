// verbs.def as types: one struct a row, with the two pointers its hooks forward to.
#pragma once

#include <atomic>

#include "interpose/effects/cm_effect.h"
#include "interpose/hooks/intercept.h"
#include "interpose/libraries/real_symbol.h"

namespace rdmacheck {

// An exported verb is reached in two ways. A caller that was linked (or asks dlsym for the default scope) comes to the
// exported hook, which forwards to the next definition in search order: another interposer keeps its place. A caller
// that asked a handle comes to the handle hook, which forwards to the library itself: a stub that defines ibv_* and
// fetches the real ones by dlsym would otherwise be called by its own function forever.
struct RealPointers {
  std::atomic<void*> next{nullptr};
  std::atomic<void*> in_library{nullptr};
};

// Says, once a process, that a function was called that its library does not have.
void TellMissing(Library library, const char* name, const char* version);

template <class Row>
typename Row::Fn Next() {
  void* real = Row::real.next.load(std::memory_order_acquire);
  if (real == nullptr) {
    const int saved = errno;
    real = FindReal(Row::kLibrary, Row::kName, Row::kVersion);
    if (real != nullptr) {
      Row::real.next.store(real, std::memory_order_release);
    } else {
      TellMissing(Row::kLibrary, Row::kName, Row::kVersion);
    }
    errno = saved;
  }
  return reinterpret_cast<typename Row::Fn>(real);
}

#define PLT_VERB(library, version, symbol, argc, ...)      \
  struct Row_##symbol {                                    \
    static constexpr const char* kName = #symbol;          \
    static constexpr const char* kVersion = version;       \
    static constexpr Library kLibrary = Library::library;  \
    using Fn = decltype(&::symbol);                        \
    using Effect = __VA_ARGS__;                            \
    static inline RealPointers real;                       \
  };
#define SLOT_VERB(symbol, slot, ...)
#include "interpose/effects/all_verbs.def"
#undef PLT_VERB
#undef SLOT_VERB

// The hook that dlsym gives out for a handle.
template <class Row, class Fn = typename Row::Fn>
struct HandleHook;
template <class Row, class R, class... A>
struct HandleHook<Row, R (*)(A...)> {
  static R Call(A... a) {
    auto real = reinterpret_cast<typename Row::Fn>(Row::real.in_library.load(std::memory_order_acquire));
    return Intercept<Row>(real, __builtin_return_address(0), a...);
  }
};

}  // namespace rdmacheck
