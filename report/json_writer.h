// The report for machines: one JSON document a process, as docs/report.schema.json describes it.
#pragma once

#include <string>

#include "report/finding.h"

namespace rdmacheck {

inline constexpr char kReportSchema[] = "rdmacheck-report";
inline constexpr int kReportVersion = 1;

// Pure. Whatever bytes the strings hold, the document is valid UTF-8: what is not becomes U+FFFD. What is not known is
// null where docs/report_format.md has the field always, and left out elsewhere.
std::string JsonOf(const Report& report, FrameSource& frames);

}  // namespace rdmacheck
