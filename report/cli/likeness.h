// When two findings of different runs are the same one: by rule, kind and a stack without addresses and lines, so that
// a rebuilt program, another machine and another rank are like the first.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/reader/report_set.h"
#include "report/suppressions.h"

namespace rdmacheck {

// Functions without clone suffixes, modules without folders and versions; the C library's start code is left out.
std::string LikenessOf(const std::vector<Frame>& frames);
std::string LikenessOf(const ReportSet& set, const Finding& finding);
std::string LikenessOf(const ReportSet& set, const AliveGroup& group);

struct Comparison {
  std::vector<size_t> fresh;  // errors of `now` that `before` lacks, as indexes of findings
  std::vector<size_t> known;  // errors that are in both
  std::vector<size_t> gone;   // errors of `before` that are no longer found, as indexes of its findings
  uint64_t not_listed = 0;    // errors of `now` that it counts and does not list: they cannot be compared
  bool clean() const { return fresh.empty() && not_listed == 0; }
};

// `before` may be null: then every error is fresh. What is suppressed counts on neither side.
Comparison Compare(const ReportSet* before, const ReportSet& now);

// "3 new errors, 2 known, 1 gone".
std::string InWords(const Comparison& comparison, bool has_baseline);

// A set that holds only these findings.
ReportSet Subset(const ReportSet& set, const std::vector<size_t>& findings);
std::vector<size_t> FirstFindings(const ReportSet& set, size_t most);

// Marks the findings that one of these lines fits; the counts of their processes are without them. Counts the matches.
void SuppressIn(ReportSet* set, Suppressions* suppressions);

}  // namespace rdmacheck
