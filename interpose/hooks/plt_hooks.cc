// verbs.def → exported symbols, each under the version node that the real library gives it. Binaries bound to the 1.0
// compatibility functions do not meet them, and must not: those take other structs (docs/design.md).
#include "interpose/hooks/plt_rows.h"

namespace rdmacheck {

template <class Fn, size_t I>
struct ArgOf;
template <class R, class... A, size_t I>
struct ArgOf<R (*)(A...), I> {
  using type = std::tuple_element_t<I, std::tuple<A...>>;
};
template <class Fn>
struct ResultOf;
template <class R, class... A>
struct ResultOf<R (*)(A...)> {
  using type = R;
  static constexpr size_t kArity = sizeof...(A);
};

}  // namespace rdmacheck

#define RDMACHECK_P(symbol, i) typename ::rdmacheck::ArgOf<decltype(&::symbol), i>::type a##i
#define RDMACHECK_P0(s)
#define RDMACHECK_P1(s) RDMACHECK_P(s, 0)
#define RDMACHECK_P2(s) RDMACHECK_P1(s), RDMACHECK_P(s, 1)
#define RDMACHECK_P3(s) RDMACHECK_P2(s), RDMACHECK_P(s, 2)
#define RDMACHECK_P4(s) RDMACHECK_P3(s), RDMACHECK_P(s, 3)
#define RDMACHECK_P5(s) RDMACHECK_P4(s), RDMACHECK_P(s, 4)
#define RDMACHECK_P6(s) RDMACHECK_P5(s), RDMACHECK_P(s, 5)
#define RDMACHECK_P7(s) RDMACHECK_P6(s), RDMACHECK_P(s, 6)
#define RDMACHECK_A0
#define RDMACHECK_A1 , a0
#define RDMACHECK_A2 , a0, a1
#define RDMACHECK_A3 , a0, a1, a2
#define RDMACHECK_A4 , a0, a1, a2, a3
#define RDMACHECK_A5 , a0, a1, a2, a3, a4
#define RDMACHECK_A6 , a0, a1, a2, a3, a4, a5
#define RDMACHECK_A7 , a0, a1, a2, a3, a4, a5, a6

// The C++ name is ours, the exported one is given by .symver: so a macro or a macro-named function of the header cannot
// get in the way, and the default version is the row's.
#define PLT_VERB(library, version, symbol, argc, ...)                                                              \
  static_assert(::rdmacheck::ResultOf<decltype(&::symbol)>::kArity == argc, "argc of " #symbol);                   \
  extern "C" __attribute__((visibility("default"), used)) typename ::rdmacheck::ResultOf<decltype(&::symbol)>::type \
      rdmacheck_##symbol(RDMACHECK_P##argc(symbol)) {                                                              \
    using Row = ::rdmacheck::Row_##symbol;                                                                         \
    return ::rdmacheck::Intercept<Row>(::rdmacheck::Next<Row>(), __builtin_return_address(0) RDMACHECK_A##argc);   \
  }                                                                                                                \
  __asm__(".symver rdmacheck_" #symbol "," #symbol "@@" version);
#define SLOT_VERB(symbol, slot, ...)
#include "interpose/effects/all_verbs.def"
#undef PLT_VERB
#undef SLOT_VERB
