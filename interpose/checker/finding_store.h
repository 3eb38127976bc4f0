// What was found, counted and kept.
//
// What is counted is exact and bounded in memory: counts for each rule and severity, and one entry for each different
// finding, by its key. Beside an entry stands the finding itself as long as there is room; where there is none, notes
// give way to warnings and warnings to errors.
//
// Threads: one at a time (the reporter's mutex).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "report/finding.h"

namespace rdmacheck {

uint64_t MixKeys(uint64_t key, uint64_t value);
// Equal findings have equal keys: by rule, severity, kind, device, verb and stacks, never by the object.
uint64_t KeyOf(const Finding& finding);

// One of the different findings of a process.
struct KnownFinding {
  uint64_t order = 0;
  Rule rule{};
  Severity severity = Severity::kNote;
  bool suppressed = false;
  uint64_t times = 0, count = 0, bytes = 0, objects = 0, resolved = 0;
  uint64_t shown = 0;                // in how many texts
  std::string how;                   // the last one that was resolved
  std::unique_ptr<Finding> finding;  // null: counted only
};

class FindingStore {
 public:
  static constexpr size_t kMaxKept = 10000;    // findings that are kept whole
  static constexpr size_t kMaxKnown = 100000;  // that are told apart; beyond, each is counted for itself

  // Counts a finding; null when there are too many different ones. `fresh`: none equal was known.
  KnownFinding* Add(const Finding& finding, uint64_t key, bool* fresh);
  KnownFinding* Find(uint64_t key);  // null: unknown
  // One more of an equal refusal; `known` null: of one that is not kept.
  void CountAgain(KnownFinding* known, Rule rule, Severity severity);
  // Takes an object with its `times` out of its note, which ceases with the last one. Gives how often that note was
  // shown if it ceased.
  uint64_t TakeOut(uint64_t key, uint64_t times);
  // Adds what was learned later to a finding that is kept.
  void AddDetail(KnownFinding* known, Finding more);

  const FindingCounts& counts() const { return counts_; }
  bool empty() const { return known_.empty() && beyond_ == 0; }
  // Those that were found more often than they were shown, in the order in which they first came.
  std::vector<const KnownFinding*> NotShown() const;
  // How many are counted, but not kept.
  uint64_t NotKept() const;
  // Findings and counts, for a report.
  void Fill(Report* report) const;

 private:
  void Keep(KnownFinding* known, const Finding& finding);
  void LetGo(KnownFinding* known);
  void List(Finding* finding, size_t usual);

  std::unordered_map<uint64_t, KnownFinding> known_;
  std::unordered_set<uint64_t> kinds_kept_;  // of errors: rule, verb and kind
  FindingCounts counts_;
  uint64_t next_order_ = 1;
  size_t kept_[3] = {0, 0, 0};               // by weight
  size_t related_kept_ = 0;
  uint64_t beyond_ = 0;                      // more than kMaxKnown
};

}  // namespace rdmacheck
