#include "report/reader/report_set.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <limits>
#include <map>
#include <mutex>

#include "report/cat.h"

namespace rdmacheck {
namespace {

uint64_t Mix(uint64_t seed, uint64_t value) { return (seed ^ value) * 0x9E3779B97F4A7C15u + (seed >> 29); }
uint64_t HashOf(const std::string& text) { return std::hash<std::string>()(text); }

uint64_t HashOf(const std::vector<Frame>& frames) {
  uint64_t hash = frames.size();
  for (const Frame& frame : frames) {
    hash = Mix(hash, frame.offset + static_cast<uint64_t>(frame.line) * 1000003u);
    hash = Mix(hash, HashOf(frame.function));
    hash = Mix(hash, HashOf(frame.module));
    hash = Mix(hash, HashOf(frame.file));
  }
  return hash;
}

bool Equal(const std::vector<Frame>& a, const std::vector<Frame>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Frame& x, const Frame& y) {
    return x.language == y.language && x.offset == y.offset && x.line == y.line && x.function == y.function && x.file == y.file &&
           x.module == y.module && x.build_id == y.build_id;
  });
}

}  // namespace

void IndexSet::AddRange(Range range) {
  if (!ranges_.empty() && range.first <= ranges_.back().last + 1 && range.first >= ranges_.back().first) {
    ranges_.back().last = std::max(ranges_.back().last, range.last);
  } else {
    ranges_.push_back(range);
  }
}

void IndexSet::AddAll(const IndexSet& other, uint32_t shift) {
  for (const Range& range : other.ranges_) AddRange({range.first + shift, range.last + shift});
}

bool IndexSet::Contains(uint32_t index) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [index](const Range& range) { return range.first <= index && index <= range.last; });
}

uint64_t IndexSet::size() const {
  uint64_t count = 0;
  for (const Range& range : ranges_) count += uint64_t{range.last} - range.first + 1;
  return count;
}

StackId StackTable::Intern(std::vector<Frame> frames) {
  if (frames.empty()) return kNoStack;
  const uint64_t hash = HashOf(frames);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (Equal(stacks_[it->second], frames)) return it->second;
  }
  const StackId id = static_cast<StackId>(stacks_.size());
  stacks_.push_back(std::move(frames));
  by_hash_.emplace(hash, id);
  return id;
}

const char* ReportSet::NumberName(std::string_view name) {
  constexpr size_t kMostNames = 1000;
  static std::mutex mutex;
  static std::unordered_set<std::string>& names = *new std::unordered_set<std::string>;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto it = names.find(std::string(name));
  if (it != names.end()) return it->c_str();
  if (names.size() >= kMostNames) return "number";
  return names.emplace(name).first->c_str();
}

Summary TotalsOf(const ReportSet& set) {
  Summary totals;
  for (const SetFinding& one : set.findings) {
    if (!one.finding.suppressed_by.empty()) {
      ++totals.suppressed;
      continue;
    }
    switch (one.finding.severity) {
      case Severity::kError:
        ++totals.errors;
        break;
      case Severity::kWarning:
        ++totals.warnings;
        break;
      case Severity::kNote:
        ++totals.notes;
        break;
    }
  }
  std::unordered_map<std::string, size_t> index;
  std::map<std::pair<std::string, StackId>, Growth> growth;
  for (const SetProcess& process : set.processes) {
    totals.calls += process.summary.calls;
    totals.not_listed += process.summary.not_listed;
    for (const KindCount& kind : process.summary.kinds) {
      const auto [it, added] = index.emplace(kind.kind, totals.kinds.size());
      if (added) {
        totals.kinds.emplace_back();
        totals.kinds.back().kind = kind.kind;
      }
      KindCount& sum = totals.kinds[it->second];
      sum.created += kind.created;
      sum.destroyed += kind.destroyed;
      sum.alive += kind.alive;
    }
    for (const Growth& one : process.summary.growth) {
      Growth& sum = growth[{one.kind, one.stack}];
      sum.kind = one.kind;
      sum.stack = one.stack;
      sum.created += one.created;
      sum.destroyed += one.destroyed;
      sum.alive += one.alive;
    }
  }
  for (const auto& [key, one] : growth) totals.growth.push_back(one);
  return totals;
}

std::string RanksInWords(const ReportSet& set, const IndexSet& processes) {
  constexpr size_t kMostRanges = 16;
  std::vector<long> numbers;
  bool ranks = true;
  for (const IndexSet::Range& range : processes.ranges()) {
    for (uint64_t i = range.first; i <= range.last && i < set.processes.size(); ++i) {
      const std::string& rank = set.processes[i].process.rank;
      ranks &= !rank.empty() && rank.size() < 10 && std::all_of(rank.begin(), rank.end(), ::isdigit);
    }
  }
  for (const IndexSet::Range& range : processes.ranges()) {
    for (uint64_t i = range.first; i <= range.last && i < set.processes.size(); ++i) {
      const ProcessInfo& process = set.processes[i].process;
      numbers.push_back(ranks ? std::stol(process.rank) : process.pid);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::string text = Cat(ranks ? "rank" : "process", numbers.size() == 1 ? " " : ranks ? "s " : "es ");
  size_t shown = 0;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (shown == kMostRanges) {
      Append(&text, " and ", numbers.size() - i, " more");
      break;
    }
    Append(&text, shown == 0 ? "" : ",", numbers[i]);
    if (last > i) Append(&text, "-", numbers[last]);
    ++shown;
    i = last + 1;
  }
  return text;
}

}  // namespace rdmacheck
