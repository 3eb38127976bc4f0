#include <gtest/gtest.h>

#include <set>

#include "report/finding.h"

namespace rdmacheck {
namespace {

TEST(RulesTest, IdsAreUniqueAndInTheOrderOfTheTable) {
  const std::vector<std::string_view> ids = AllRuleIds();
  EXPECT_EQ(std::set<std::string_view>(ids.begin(), ids.end()).size(), ids.size());
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i], InfoOf(static_cast<Rule>(i)).id);
}

TEST(RulesTest, OnlyWhatIsWrongForSureIsAnError) {
  EXPECT_EQ(InfoOf(Rule::kLeakAtClose).severity, Severity::kError);
  EXPECT_EQ(InfoOf(Rule::kOpenAtExit).severity, Severity::kWarning);
  EXPECT_EQ(InfoOf(Rule::kCreateFailed).severity, Severity::kNote);
}

}  // namespace
}  // namespace rdmacheck
