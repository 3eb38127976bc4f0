// What the command works on: one or many reports as one set of plain data. Findings that are equal in several processes
// stand here once, with the processes that have them. Strings hold no control characters (the reader replaces them), so
// no form can be made to write one to a terminal; a form still escapes what its own syntax needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "report/finding.h"

namespace rdmacheck {

// Ascending indexes as ranges: a job of ten thousand ranks mostly is one range.
class IndexSet {
 public:
  struct Range {
    uint32_t first, last;
  };
  void Add(uint32_t index) { AddRange({index, index}); }
  // Ranges come in ascending order; one that touches or overlaps the last is joined with it.
  void AddRange(Range range);
  void AddAll(const IndexSet& other, uint32_t shift);
  bool Contains(uint32_t index) const;
  uint64_t size() const;
  bool empty() const { return ranges_.empty(); }
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  std::vector<Range> ranges_;
};

// Stacks by number, equal ones once. The names inside come from the reports, or from Replace().
class StackTable : public FrameSource {
 public:
  StackTable() : stacks_(1) {}
  StackId Intern(std::vector<Frame> frames);  // kNoStack for no frames
  void Append(std::vector<Frame> frames) { stacks_.push_back(std::move(frames)); }  // numbered on, equal or not
  std::vector<Frame> FramesOf(StackId id) override { return Get(id); }
  const std::vector<Frame>& Get(StackId id) const { return stacks_[id < stacks_.size() ? id : 0]; }
  // For symbols that were found later. Equal stacks are not joined again.
  void Replace(StackId id, std::vector<Frame> frames) { stacks_[id] = std::move(frames); }
  StackId size() const { return static_cast<StackId>(stacks_.size()); }  // numbers are 1 to size()-1

 private:
  std::deque<std::vector<Frame>> stacks_;
  std::unordered_multimap<uint64_t, StackId> by_hash_;
};

struct SetProcess {
  std::string file;  // the report it was read from
  ProcessInfo process;
  EnvironmentInfo environment;
  Summary summary;       // growth's stacks are numbers of the set's table
  std::string ended_by;  // what `run` saw: "signal 9 (SIGKILL)", "_exit or exec", …; empty: exit, or not known
  std::vector<std::string> remarks;  // of a journal: what else it says, a sentence each
  // Kept for the first kMaxPictured processes only: nobody looks at the lifetimes of ten thousand.
  std::vector<Destroyed> destroyed;
  std::vector<TimelineEntry> timeline;
  std::vector<InjectedFault> injected;
};
inline constexpr size_t kMaxPictured = 64;

struct SetFinding {
  Finding finding;  // of the first process that has it; count and bytes are those of all
  IndexSet processes;
};

struct SetAlive {
  AliveGroup group;  // likewise
  IndexSet processes;
};

struct ReportSet {
  StackTable stacks;
  std::vector<SetProcess> processes;
  std::vector<SetFinding> findings;
  std::vector<SetAlive> alive;

  ReportSet() = default;
  ReportSet(ReportSet&&) = default;
  ReportSet& operator=(ReportSet&&) = default;
  ReportSet(const ReportSet&) = delete;
  ReportSet& operator=(const ReportSet&) = delete;

  // A text that lives as long as the program, for Number::name. Few names exist; past a bound all others are "number".
  static const char* NumberName(std::string_view name);
};

// Sums over the processes, from the findings (not from what each report claims).
Summary TotalsOf(const ReportSet& set);

// "ranks 0-511,700" where the processes have ranks, else "processes 4711,4712"; long lists end in "and N more".
std::string RanksInWords(const ReportSet& set, const IndexSet& processes);

}  // namespace rdmacheck
