// interpose/verbs/direct_verbs_abi.h declares the direct verbs in its own words. Here each is compared, at compile time,
// with the installed header's declaration: the same number of arguments, and each passed in the same way. An enumeration
// there may be an int here, and a pointer there must be the same pointer here.
//
// A function cannot be declared twice in one translation unit with an enum once and an int once, so CMakeLists.txt makes a
// copy of our header in which every function is called ours_..., and writes one line COMPARE(name) for each verb that the
// installed headers have.
#include <gtest/gtest.h>
#include <infiniband/efadv.h>
#include <infiniband/mlx4dv.h>
#include <infiniband/mlx5dv.h>
#if __has_include(<infiniband/hnsdv.h>)
#include <infiniband/hnsdv.h>
#endif

#include <tuple>
#include <type_traits>

#include "renamed_direct_verbs_abi.h"

namespace {

// Whether a caller of `Theirs` is served by a callee that expects `Ours`.
template <class Ours, class Theirs>
constexpr bool PassedAlike() {
  if constexpr (std::is_pointer_v<Ours> || std::is_pointer_v<Theirs>) {
    if constexpr (std::is_pointer_v<Ours> != std::is_pointer_v<Theirs>) {
      return false;
    } else {
      // const is no part of a call; __be64 and uint64_t may be spelt by two different integers.
      using Our = std::remove_cv_t<std::remove_pointer_t<Ours>>;
      using Their = std::remove_cv_t<std::remove_pointer_t<Theirs>>;
      if constexpr (std::is_integral_v<Our> && std::is_integral_v<Their>) {
        return sizeof(Our) == sizeof(Their);
      } else {
        return std::is_same_v<Our, Their>;
      }
    }
  } else if constexpr (std::is_enum_v<Theirs>) {
    return std::is_integral_v<Ours> && sizeof(Ours) == sizeof(Theirs);
  } else {
    return std::is_same_v<Ours, Theirs>;
  }
}

template <class Ours, class Theirs>
struct CalledAlike : std::false_type {};
template <class R, class... A, class Q, class... B>
struct CalledAlike<R (*)(A...), Q (*)(B...)> {
  static constexpr bool Arguments() {
    if constexpr (sizeof...(A) == sizeof...(B)) {
      return (PassedAlike<A, B>() && ...);
    } else {
      return false;
    }
  }
  static constexpr bool value = PassedAlike<R, Q>() && Arguments();
};

enum Enumeration { kOne };
static_assert(CalledAlike<int (*)(int, const void*), int (*)(Enumeration, void*)>::value);
static_assert(!CalledAlike<int (*)(int), int (*)(long)>::value);
static_assert(!CalledAlike<int (*)(int*), int (*)(short*)>::value);
static_assert(!CalledAlike<int (*)(uint8_t), int (*)(Enumeration)>::value);
static_assert(!CalledAlike<int (*)(int), int (*)(int, int)>::value);
static_assert(!CalledAlike<void (*)(int), int (*)(int)>::value);

int compared = 0;

#define COMPARE(verb)                                                                                   \
  static_assert(CalledAlike<decltype(&::ours_##verb), decltype(&::verb)>::value,                         \
                "interpose/verbs/direct_verbs_abi.h declares " #verb " unlike the installed header");   \
  [[maybe_unused]] const int verb##_compared = ++compared;
#include "compared_direct_verbs.inc"
#undef COMPARE

// The comparison would be an empty one if no name had been found in the headers.
TEST(DirectVerbsAbi, AgreesWithTheInstalledHeaders) { EXPECT_GT(compared, 70); }

}  // namespace
