#include "report/json_writer.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "fixed_report.h"

namespace rdmacheck {
namespace {

nlohmann::json Parsed(const Report& report) {
  FixedFrames frames;
  return nlohmann::json::parse(JsonOf(report, frames));
}

TEST(JsonWriterTest, AnEmptyReportIsADocument) {
  const nlohmann::json json = Parsed(Report());
  EXPECT_EQ(json["schema"], "rdmacheck-report");
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["findings"], nlohmann::json::array());
  EXPECT_EQ(json["alive"], nlohmann::json::array());
  EXPECT_EQ(json["summary"]["kinds"], nlohmann::json::object());
  EXPECT_TRUE(json["process"]["exit_status"].is_null());
  EXPECT_TRUE(json["process"]["ended"].is_null());
}

TEST(JsonWriterTest, ALeakHasItsObjectCountContextAndStacks) {
  const nlohmann::json leak = Parsed(FixedReport())["findings"][1];
  EXPECT_EQ(leak["rule"], "leak-at-close");
  EXPECT_EQ(leak["severity"], "error");
  EXPECT_EQ(leak["count"], 3);
  EXPECT_EQ(leak["object"]["kind"], "mr");
  EXPECT_EQ(leak["object"]["numbers"]["length"], 4096);
  EXPECT_EQ(leak["related"][0]["role"], "context");
  EXPECT_EQ(leak["related"][0]["object"]["serial"], 1);
  EXPECT_EQ(leak["stacks"][0]["role"], "created");
  EXPECT_EQ(leak["stacks"][1]["role"], "closed");
  EXPECT_EQ(leak["stacks"][1]["frames"][0]["function"], "close_all");
  EXPECT_TRUE(leak["suppressed_by"].is_null());
}

TEST(JsonWriterTest, WhatIsNotKnownIsNull) {
  const nlohmann::json frame = Parsed(FixedReport())["findings"][5]["stacks"][0]["frames"][0];
  for (const char* name : {"function", "file", "line", "module", "build_id"})
    EXPECT_TRUE(frame[name].is_null()) << name;
}

TEST(JsonWriterTest, AStackThatWasNotTakenIsEmpty) {
  EXPECT_EQ(Parsed(FixedReport())["findings"][6]["stacks"][0]["frames"], nlohmann::json::array());
}

TEST(JsonWriterTest, LargeNumbersStayWhole) {
  Report report = FixedReport();
  report.findings[1].object.numbers = {{"addr", std::numeric_limits<uint64_t>::max(), true}};
  FixedFrames frames;
  EXPECT_NE(JsonOf(report, frames).find("\"addr\":18446744073709551615"), std::string::npos);
}

TEST(JsonWriterTest, BytesThatAreNoUtf8AreReplaced) {
  Report report = FixedReport();
  report.process.exe = "/opt/\xff\xfe/\x01\"\\";
  report.findings[0].thread.name = "\xc3";
  const nlohmann::json json = Parsed(report);
  EXPECT_EQ(json["process"]["exe"], "/opt/\xef\xbf\xbd\xef\xbf\xbd/\x01\"\\");
  EXPECT_EQ(json["findings"][0]["thread"]["name"], "\xef\xbf\xbd");
}

TEST(JsonWriterTest, ATimeThatIsNoNumberDoesNotSpoilTheDocument) {
  Report report = FixedReport();
  report.findings[0].object.age = std::numeric_limits<double>::infinity();
  report.process.started = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Parsed(report)["findings"][0]["object"]["age"], 0);
}

}  // namespace
}  // namespace rdmacheck
