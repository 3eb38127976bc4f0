// For the functions that the tables' rows define: RDMACHECK_P3(symbol) is a list of three parameters with the types of
// `symbol`, RDMACHECK_A3 hands them on, with a comma before each.
#pragma once

#include <cstddef>
#include <tuple>

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
