#include "report/suppressions.h"

#include <gtest/gtest.h>

namespace rdmacheck {
namespace {

Frame NamedFrame(std::string function, std::string file, int line, std::string module, uint64_t offset) {
  Frame frame;
  frame.function = std::move(function);
  frame.file = std::move(file);
  frame.line = line;
  frame.module = std::move(module);
  frame.offset = offset;
  frame.build_id = "c0ffee00";
  return frame;
}

const std::vector<Frame> kStack = {
    NamedFrame("net::Pool::Grow(int, char const*)", "/src/net/pool.cc", 42, "/usr/lib/libnet.so.1", 0x1234),
    NamedFrame("main", "/src/main.cc", 7, "/usr/bin/echo", 0x99),
};

TEST(WildcardTest, AStarStandsForAnyCharactersAndAllMustFit) {
  EXPECT_TRUE(MatchesWildcard("abc", "abc"));
  EXPECT_FALSE(MatchesWildcard("abc", "abcd"));
  EXPECT_FALSE(MatchesWildcard("bc", "abc"));
  EXPECT_TRUE(MatchesWildcard("*", ""));
  EXPECT_TRUE(MatchesWildcard("a*c*e", "abcde"));
  EXPECT_TRUE(MatchesWildcard("*b*b", "abab"));
  EXPECT_FALSE(MatchesWildcard("a*b", "aba"));
  EXPECT_FALSE(MatchesWildcard("", "a"));
  EXPECT_TRUE(MatchesWildcard("", ""));
}

TEST(SuppressionsTest, APatternFitsFunctionFileOrModuleOfAnyFrame) {
  for (const char* pattern :
       {"net::Pool::Grow(int, char const*)", "net::Pool::Grow", "*Grow", "main", "/src/net/pool.cc", "pool.cc",
        "pool.cc:42", "/src/main.cc:7", "/usr/lib/libnet.so.1", "libnet.so.*", "libnet.so.1+0x1234",
        "/usr/bin/echo+0x99", "echo", "c0ffee00", "c0ffee00+0x1234"}) {
    EXPECT_TRUE(MatchesStack(pattern, kStack)) << pattern;
  }
  for (const char* pattern : {"Grow", "pool.cc:43", "libnet.so.1+0x123", "net", "mai", "lib"}) {
    EXPECT_FALSE(MatchesStack(pattern, kStack)) << pattern;
  }
}

TEST(SuppressionsTest, AFrameWithoutSymbolsFitsByModuleOffsetAndBuild) {
  const std::vector<Frame> bare = {NamedFrame("", "", 0, "/opt/app", 0x10)};
  EXPECT_TRUE(MatchesStack("app+0x10", bare));
  EXPECT_TRUE(MatchesStack("c0ffee00", bare));
  EXPECT_FALSE(MatchesStack("", bare));
  EXPECT_FALSE(MatchesStack("main", bare));
}

TEST(SuppressionsTest, ACallOperatorKeepsItsParentheses) {
  EXPECT_TRUE(MatchesStack("ns::F::operator()", {NamedFrame("ns::F::operator()(int) const", "", 0, "", 0)}));
}

TEST(SuppressionsTest, RuleAndPatternMustBothFit) {
  std::vector<std::string> complaints;
  Suppressions suppressions = Suppressions::Parse("leak-at-close:main:known, ticket 7\n", "s.txt", &complaints);
  EXPECT_TRUE(complaints.empty());
  EXPECT_EQ(suppressions.Match("open-at-exit", kStack), nullptr);
  const Suppression* match = suppressions.Match("leak-at-close", kStack);
  ASSERT_NE(match, nullptr);
  EXPECT_EQ(match->pattern, "main");
  EXPECT_EQ(match->reason, "known, ticket 7");
  EXPECT_EQ(match->where, "s.txt:1");
  EXPECT_EQ(match->Line(), "leak-at-close:main:known, ticket 7");
}

TEST(SuppressionsTest, AStarIsEveryRule) {
  std::vector<std::string> complaints;
  Suppressions suppressions = Suppressions::Parse("*:libnet*", "s.txt", &complaints);
  EXPECT_NE(suppressions.Match("mcast-attached", kStack), nullptr);
}

TEST(SuppressionsTest, DoubleColonsBelongToTheName) {
  std::vector<std::string> complaints;
  Suppressions suppressions = Suppressions::Parse("*:net::Pool::Grow:held on purpose: yes\n", "s.txt", &complaints);
  const Suppression* match = suppressions.Match("leak-at-close", kStack);
  ASSERT_NE(match, nullptr);
  EXPECT_EQ(match->pattern, "net::Pool::Grow");
  EXPECT_EQ(match->reason, "held on purpose: yes");
}

TEST(SuppressionsTest, CommentsAndEmptyLinesSayNothing) {
  std::vector<std::string> complaints;
  const Suppressions suppressions =
      Suppressions::Parse("# all\n\n   \r\n *:main # why\n*:f()::{lambda()#1}\n", "s.txt", &complaints);
  EXPECT_TRUE(complaints.empty());
  EXPECT_EQ(suppressions.rows()[0].pattern, "main");
  EXPECT_EQ(suppressions.rows()[0].where, "s.txt:4");
  EXPECT_EQ(suppressions.rows()[1].pattern, "f()::{lambda()#1}");
}

TEST(SuppressionsTest, ABadLineIsToldAndTheRestHolds) {
  std::vector<std::string> complaints;
  Suppressions suppressions = Suppressions::Parse("leak-on-close:main\nnonsense\n*:\n*:main\n", "s.txt", &complaints);
  ASSERT_EQ(complaints.size(), 3u);
  EXPECT_EQ(complaints[0], "s.txt:1: 'leak-on-close' is no rule; did you mean 'leak-at-close'?");
  EXPECT_NE(complaints[1].find("s.txt:2: 'nonsense' is no rule"), std::string::npos);
  EXPECT_EQ(complaints[2], "s.txt:3: '*:' has no pattern; write RULE:PATTERN or RULE:PATTERN:REASON");
  EXPECT_NE(suppressions.Match("leak-at-close", kStack), nullptr);
}

TEST(SuppressionsTest, MatchesAreCountedAndWhatMatchedNothingIsKnown) {
  std::vector<std::string> complaints;
  Suppressions suppressions = Suppressions::Parse("*:main\n*:nobody\n", "s.txt", &complaints);
  suppressions.Match("leak-at-close", kStack);
  suppressions.Match("leak-at-close", kStack);
  EXPECT_EQ(suppressions.rows()[0].matches, 2u);
  ASSERT_EQ(suppressions.Unmatched().size(), 1u);
  EXPECT_EQ(suppressions.Unmatched()[0]->pattern, "nobody");
}

TEST(SuppressionsTest, TheBuiltInListHoldsOnlyWhatNcclKeepsOnPurpose) {
  Suppressions suppressions;
  EXPECT_TRUE(suppressions.Unmatched().empty());
  const std::vector<Frame> init = {NamedFrame("ncclIbInitDevices(void (*)(int))", "", 0, "/usr/lib/libnccl.so.2", 1)};
  const std::vector<Frame> connect = {NamedFrame("ncclIbInitCommDevBase(int)", "", 0, "/usr/lib/libnccl.so.2", 1)};
  ASSERT_NE(suppressions.Match("open-at-exit", init), nullptr);
  EXPECT_EQ(suppressions.Match("open-at-exit", init)->where, "built-in");
  EXPECT_EQ(suppressions.Match("leak-at-close", init), nullptr);
  EXPECT_EQ(suppressions.Match("open-at-exit", connect), nullptr);
}

TEST(SuppressionsTest, OnlyRulesWithALineNeedNames) {
  std::vector<std::string> complaints;
  EXPECT_TRUE(Suppressions().Concerns("open-at-exit"));  // built-in
  EXPECT_FALSE(Suppressions().Concerns("busy-destroy"));
  EXPECT_TRUE(Suppressions::Parse("busy-destroy:f", "s", &complaints).Concerns("busy-destroy"));
  EXPECT_TRUE(Suppressions::Parse("*:f", "s", &complaints).Concerns("create-failed"));
}

TEST(SuppressionsTest, AHugeLineIsQuotedInPart) {
  std::vector<std::string> complaints;
  Suppressions::Parse(std::string(1 << 20, 'x') + "\nleak-at-close:" + std::string(1 << 20, ' ') + "\n", "s", &complaints);
  ASSERT_EQ(complaints.size(), 2u);
  for (const std::string& complaint : complaints) EXPECT_LT(complaint.size(), 250u);
  EXPECT_EQ(complaints[1].substr(0, 4), "s:2:");
}

}  // namespace
}  // namespace rdmacheck
