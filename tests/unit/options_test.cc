#include "interpose/options/options.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace rdmacheck {
namespace {

TEST(OptionsTest, NoVariableAndAnEmptyOneLeaveTheDefaults) {
  for (const char* text : {static_cast<const char*>(nullptr), "", " : \n"}) {
    const ParseResult result = ParseOptions(text);
    EXPECT_TRUE(result.complaints.empty());
    EXPECT_FALSE(result.help);
    EXPECT_EQ(result.options.log_path, "stderr");
    EXPECT_EQ(result.options.json_path, "");
    EXPECT_EQ(result.options.exitcode, 23);
    EXPECT_FALSE(result.options.halt_on_error);
    EXPECT_FALSE(result.options.strict);
    EXPECT_TRUE(result.options.check_at_exit);
    EXPECT_EQ(result.options.stack_depth, 32);
    EXPECT_EQ(result.options.unwinder, Unwinder::kLibunwind);
    EXPECT_TRUE(result.options.symbolize);
    EXPECT_EQ(result.options.suppressions, "");
    EXPECT_EQ(result.options.event_races, EventRaces::kAuto);
    EXPECT_EQ(result.options.hang_timeout, 10);
    EXPECT_EQ(result.options.snapshot_signal, 0);
    EXPECT_TRUE(result.options.track_rdmacm);
    EXPECT_FALSE(result.options.forward_double_destroy);
    EXPECT_EQ(result.options.verbosity, 0);
  }
}

TEST(OptionsTest, ColonsAndWhiteSpaceSeparateOptions) {
  const ParseResult result = ParseOptions(":stack_depth=8:unwinder=fp exitcode=0\tstrict=1\nevent_races=never::");
  EXPECT_TRUE(result.complaints.empty());
  EXPECT_EQ(result.options.stack_depth, 8);
  EXPECT_EQ(result.options.unwinder, Unwinder::kFp);
  EXPECT_EQ(result.options.exitcode, 0);
  EXPECT_TRUE(result.options.strict);
  EXPECT_EQ(result.options.event_races, EventRaces::kNever);
}

TEST(OptionsTest, QuotesKeepSeparatorsInAValue) {
  const ParseResult result = ParseOptions("log_path='/a b:c':json_path=\"it's = 1\":suppressions='':verbosity=1");
  EXPECT_TRUE(result.complaints.empty());
  EXPECT_EQ(result.options.log_path, "/a b:c");
  EXPECT_EQ(result.options.json_path, "it's = 1");
  EXPECT_EQ(result.options.suppressions, "");
  EXPECT_EQ(result.options.verbosity, 1);
}

TEST(OptionsTest, AValueMayHoldEqualsSignsAndCommas) {
  const ParseResult result = ParseOptions("json_path=a=b,c:strict=1");
  EXPECT_TRUE(result.complaints.empty());
  EXPECT_EQ(result.options.json_path, "a=b,c");
  EXPECT_TRUE(result.options.strict);
}

TEST(OptionsTest, WhatQuotedOptionWritesIsReadBack) {
  for (const char* value : {"", "plain", "/a b:c", "it's", "\"", "'", "'\"'", "a\tb\n", "x='y':z=\"w\""}) {
    const ParseResult result = ParseOptions((QuotedOption("json_path", value) + ":strict=1").c_str());
    EXPECT_TRUE(result.complaints.empty()) << value;
    EXPECT_EQ(result.options.json_path, value);
    EXPECT_TRUE(result.options.strict);
  }
}

TEST(OptionsTest, TheLastOfTwoValuesHolds) {
  EXPECT_EQ(ParseOptions("stack_depth=8:stack_depth=9").options.stack_depth, 9);
}

TEST(OptionsTest, AnUnknownNameIsToldWithTheNearestAndTheRestHolds) {
  const ParseResult result = ParseOptions("stack_dept=8:strict=1");
  ASSERT_EQ(result.complaints.size(), 1u);
  EXPECT_EQ(result.complaints[0], "unknown option 'stack_dept'; did you mean 'stack_depth'?");
  EXPECT_EQ(result.options.stack_depth, 32);
  EXPECT_TRUE(result.options.strict);
}

TEST(OptionsTest, ABadValueIsToldAndTheDefaultStays) {
  struct Case {
    const char *text, *complaint;
  };
  for (const Case& c : {
           Case{"stack_depth=257", "bad value '257' of option 'stack_depth': it must be a whole number from 0 to 256"},
           Case{"stack_depth=-1", "bad value '-1' of option 'stack_depth': it must be a whole number from 0 to 256"},
           Case{"stack_depth=8x", "bad value '8x' of option 'stack_depth': it must be a whole number from 0 to 256"},
           Case{"stack_depth=", "bad value '' of option 'stack_depth': it must be a whole number from 0 to 256"},
           Case{"exitcode=256", "bad value '256' of option 'exitcode': it must be a whole number from 0 to 255"},
           Case{"exitcode=99999999999",
                "bad value '99999999999' of option 'exitcode': it must be a whole number from 0 to 255"},
           Case{"hang_timeout=-1",
                "bad value '-1' of option 'hang_timeout': it must be a whole number from 0 to 1000000"},
           Case{"snapshot_signal=65",
                "bad value '65' of option 'snapshot_signal': it must be a whole number from 0 to 64"},
           Case{"snapshot_signal=9",
                "bad value '9' of option 'snapshot_signal': it must be a signal that a program can catch"},
           Case{"strict=maybe", "bad value 'maybe' of option 'strict': it must be 0, 1, false, true, no or yes"},
           Case{"unwinder=gdb", "bad value 'gdb' of option 'unwinder': it must be libunwind, fp or none"},
           Case{"event_races=1", "bad value '1' of option 'event_races': it must be auto, always or never"},
           Case{"strict", "'strict' is no name=value; a value that holds a colon or a space must stand in quotes"},
           Case{"log_path='a", "the quote in the value of option 'log_path' is never closed"},
           Case{"log_path='a'b", "'b' follows the closing quote of option 'log_path'"},
       }) {
    const ParseResult result = ParseOptions(c.text);
    ASSERT_EQ(result.complaints.size(), 1u) << c.text;
    EXPECT_EQ(result.complaints[0], c.complaint);
    EXPECT_EQ(result.options.stack_depth, 32);
    EXPECT_EQ(result.options.exitcode, 23);
    EXPECT_EQ(result.options.log_path, "stderr");
    EXPECT_FALSE(result.options.strict);
  }
}

TEST(OptionsTest, EveryMistakeIsToldOnce) { EXPECT_EQ(ParseOptions("foo=1:strict=2:bar=3").complaints.size(), 3u); }

TEST(OptionsTest, ABoolTakesSixWords) {
  for (const char* yes : {"strict=1", "strict=true", "strict=yes"}) EXPECT_TRUE(ParseOptions(yes).options.strict);
  for (const char* no : {"check_at_exit=0", "check_at_exit=false", "check_at_exit=no"}) {
    EXPECT_FALSE(ParseOptions(no).options.check_at_exit);
  }
}

TEST(OptionsTest, HelpIsAFlagOfItsOwn) {
  EXPECT_TRUE(ParseOptions("help=1").help);
  EXPECT_FALSE(ParseOptions("help=0").help);
  EXPECT_EQ(ParseOptions("hepl=1").complaints.at(0), "unknown option 'hepl'; did you mean 'help'?");
}

TEST(OptionsTest, TheHelpTableNamesEveryOptionWithItsDefault) {
  const std::string table = HelpTable();
  for (const char* row : {"  log_path=stderr ", "  json_path=(empty) ", "  exitcode=23 ", "  unwinder=libunwind ",
                          "  event_races=auto ", "  check_at_exit=1 ", "  verbosity=0 "}) {
    EXPECT_NE(table.find(row), std::string::npos) << row;
  }
  EXPECT_EQ(table.back(), '\n');
}

TEST(OptionsTest, ErrnoStays) {
  errno = EBUSY;
  ParseOptions("stack_depth=999999999999999:foo=1");
  EXPECT_EQ(errno, EBUSY);
}

}  // namespace
}  // namespace rdmacheck
