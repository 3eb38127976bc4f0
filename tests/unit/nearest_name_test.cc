#include "report/nearest_name.h"

#include <gtest/gtest.h>

namespace rdmacheck {
namespace {

TEST(NearestNameTest, AMissingASwappedAndAWrongLetterAreSeen) {
  const std::vector<std::string_view> names = {"strict", "stack_depth", "symbolize"};
  EXPECT_EQ(NearestName("strct", names), "strict");
  EXPECT_EQ(NearestName("stack-depth", names), "stack_depth");
  EXPECT_EQ(NearestName("symoblize", names), "symbolize");
}

TEST(NearestNameTest, TheFirstOfEqualsIsTaken) { EXPECT_EQ(NearestName("c", {"a", "b"}), "a"); }

TEST(NearestNameTest, WithoutNamesThereIsNone) { EXPECT_EQ(NearestName("a", {}), ""); }

}  // namespace
}  // namespace rdmacheck
