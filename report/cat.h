// Builds strings from pieces. abseil's StrCat would do, but where abseil has a string_view of its own (as Debian builds
// it) it does not take ours.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace rdmacheck {

// A number as 0x1f.
struct Hex {
  explicit Hex(uint64_t v) : value(v) {}
  uint64_t value;
};

// llround() would be all that the preload library takes from libm, and every process that inherits it would load that.
constexpr long long ToNearest(double value) { return static_cast<long long>(value < 0 ? value - 0.5 : value + 0.5); }

namespace cat_internal {

inline void AppendOne(std::string* out, std::string_view text) { out->append(text); }
inline void AppendOne(std::string* out, Hex hex) {
  char digits[16];
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof(digits), hex.value, 16);
  out->append("0x").append(digits, end.ptr);
}
template <class T,
          std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>, int> = 0>
void AppendOne(std::string* out, T number) {
  char digits[24];
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof(digits), number);
  out->append(digits, end.ptr);
}

}  // namespace cat_internal

// Appends strings, integers (decimal) and Hex.
template <class... T>
void Append(std::string* out, const T&... pieces) {
  (cat_internal::AppendOne(out, pieces), ...);
}

template <class... T>
std::string Cat(const T&... pieces) {
  std::string out;
  Append(&out, pieces...);
  return out;
}

// "1 object", "3 objects".
inline std::string Counted(uint64_t count, std::string_view singular, std::string_view plural) {
  return Cat(count, " ", count == 1 ? singular : plural);
}

}  // namespace rdmacheck
