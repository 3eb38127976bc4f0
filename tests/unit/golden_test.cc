// Whole reports. After a change that is meant: RDMACHECK_UPDATE_GOLDEN=1 build/tests/unit/report_test, and look at the
// diff.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "fixed_report.h"
#include "report/json_writer.h"
#include "report/text_writer.h"
#include "report/version.h"

namespace rdmacheck {
namespace {

void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = std::string(RDMACHECK_GOLDEN_DIR "/") + name;
  if (getenv("RDMACHECK_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::stringstream expected;
  expected << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, expected.str()) << path;
}

TEST(GoldenTest, TheTextReport) {
  FixedFrames frames;
  const Report report = FixedReport();
  std::string text;
  for (const Rule rule :
       {Rule::kLeakAtClose, Rule::kDoubleDestroy, Rule::kBusyDestroy, Rule::kCreateFailed, Rule::kOpenAtExit}) {
    text += TextOf(FindingsOf(report, rule), report.process.pid, frames);
  }
  ExpectGolden("report.txt", text + SummaryLine(report.findings));
}

// The version of the tool is the one thing in it that changes by itself.
TEST(GoldenTest, TheJsonReport) {
  FixedFrames frames;
  std::string json = JsonOf(FixedReport(), frames);
  const std::string version = std::string("\"version\": \"") + Version() + "\"";
  const size_t at = json.find(version);
  ASSERT_NE(at, std::string::npos);
  json.replace(at, version.size(), "\"version\": \"0.0.0\"");
  ExpectGolden("report.json", json);
}

TEST(GoldenTest, AReportThatFoundNothing) {
  FixedFrames frames;
  Report report = FixedReport();
  report.findings.clear();
  report.alive.clear();
  report.destroyed.clear();
  report.timeline.clear();
  report.summary = {};
  report.process.ended = 0;
  report.process.exit_status = -1;
  report.process.rank.clear();
  std::string json = JsonOf(report, frames);
  const std::string version = std::string("\"version\": \"") + Version() + "\"";
  json.replace(json.find(version), version.size(), "\"version\": \"0.0.0\"");
  ExpectGolden("nothing_found.json", json);
}

}  // namespace
}  // namespace rdmacheck
