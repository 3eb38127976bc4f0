#include "report/printable.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace rdmacheck {
namespace {

TEST(PrintableTest, WhatIsPrintableStays) {
  for (const std::string text :
       {"", "std::vector<int>::f(int) const", "h\u00e9llo \u4e16\u754c", "\U0001f468\u200d\U0001f469", "a\\x1b"}) {
    EXPECT_EQ(Printable(text), text);
    EXPECT_EQ(PrintableLines(text), text);
  }
}

TEST(PrintableTest, WhatATerminalActsOnBecomesVisible) {
  EXPECT_EQ(Printable("t\033[2J\nERROR:\r\x7f"), "t\\x1b[2J\\x0aERROR:\\x0d\\x7f");
  EXPECT_EQ(Printable(std::string_view("a\0b\t", 4)), "a\\x00b\\x09");
  EXPECT_EQ(Printable("\u009b31m"), "\\u009b31m");                       // a C1 control: CSI in one character
  EXPECT_EQ(Printable("\u202egnp.exe\u2069"), "\\u202egnp.exe\\u2069");  // overrides of the writing direction
  EXPECT_EQ(Printable("a\u2028b\u2029c\u200bd\ufeff"), "a\\u2028b\\u2029c\\u200bd\\ufeff");
  EXPECT_EQ(Printable("\U000e0041"), "\\U000e0041");
}

TEST(PrintableTest, OnlyATextOfSeveralLinesKeepsNewlines) {
  EXPECT_EQ(PrintableLines("one\ntwo\033c\n"), "one\ntwo\\x1bc\n");
  EXPECT_EQ(Printable("one\ntwo"), "one\\x0atwo");
}

// Both reports replace the same parts.
TEST(PrintableTest, InvalidUtf8IsReplacedAsInJson) {
  for (const std::string text : {"\xfe",
                                 "\xff\xff",
                                 "x\x80y",
                                 "\xc0\xaf",
                                 "\xc3",
                                 "\xc3(",
                                 "\xe2\x82",
                                 "\xe2\x82(",
                                 "\xe2(\xa1",
                                 "\xe0\x80\x80",
                                 "\xed\xa0\x80",
                                 "\xed\xb0\x80",
                                 "\xf0\x9f\x91",
                                 "\xf0\x9f\x91(",
                                 "\xf0\x80\x80\x80",
                                 "\xf4\x90\x80\x80",
                                 "\xf5\x80\x80\x80",
                                 "\xf8\x88\x80\x80\x80",
                                 "ok\xc3\xa9\xc3",
                                 "\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41"}) {
    const nlohmann::json json = text;
    const std::string dumped = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    EXPECT_EQ("\"" + Printable(text) + "\"", dumped);
    EXPECT_EQ(Printable(Printable(text)), Printable(text));
  }
}

// No byte that a terminal acts on is left of any bytes at all.
TEST(PrintableTest, NothingGetsThrough) {
  uint32_t state = 1;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (int i = 0; i < 40; ++i) {
      state = state * 1664525u + 1013904223u;
      bytes += static_cast<char>(state >> 24);
    }
    const std::string clean = Printable(bytes);
    for (const char c : clean) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    EXPECT_EQ(Printable(clean), clean);
    EXPECT_NO_THROW((void)nlohmann::json(clean).dump());
  }
}

}  // namespace
}  // namespace rdmacheck
