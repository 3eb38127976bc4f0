// verbs.def → exported symbols, each under the version node that the real library gives it. Binaries bound to the 1.0
// compatibility functions do not meet them, and must not: those take other structs (docs/design.md).
#include "interpose/hooks/parameters.h"
#include "interpose/hooks/plt_rows.h"

// The C++ name is ours, the exported one is given by .symver: so a macro or a macro-named function of the header cannot
// get in the way, and the default version is the row's.
#define PLT_VERB(library, version, symbol, argc, ...)                                                              \
  static_assert(::rdmacheck::ResultOf<decltype(&::symbol)>::kArity == argc, "argc of " #symbol);                   \
  extern "C" __attribute__((visibility("default"), used)) typename ::rdmacheck::ResultOf<decltype(&::symbol)>::type \
      rdmacheck_##symbol(RDMACHECK_P##argc(symbol)) {                                                              \
    using Row = ::rdmacheck::PltRow_##symbol;                                                                      \
    return ::rdmacheck::Intercept<Row>(::rdmacheck::Next<Row>() RDMACHECK_A##argc);                                  \
  }                                                                                                                \
  __asm__(".symver rdmacheck_" #symbol "," #symbol "@@" version);
#define SLOT_VERB(symbol, slot, ...)
#include "interpose/effects/all_verbs.def"
#undef PLT_VERB
#undef SLOT_VERB
