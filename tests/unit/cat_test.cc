#include "report/cat.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace rdmacheck {
namespace {

TEST(CatTest, StringsAndNumbersBecomeOneString) {
  EXPECT_EQ(Cat("a", std::string("b"), std::string_view("c"), 1, -2, uint64_t{18446744073709551615u}),
            "abc1-218446744073709551615");
}

TEST(CatTest, HexIsLowerCaseWithAPrefix) { EXPECT_EQ(Cat(Hex(0), " ", Hex(0xDEADBEEF)), "0x0 0xdeadbeef"); }

TEST(CatTest, AppendKeepsWhatIsThere) {
  std::string text = "x";
  Append(&text, 1, "y");
  EXPECT_EQ(text, "x1y");
}

}  // namespace
}  // namespace rdmacheck
