#include "report/cli/likeness.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "report/cat.h"
#include "report/modules.h"
#include "report/text_writer.h"

namespace rdmacheck {
namespace {

// "libfoo.so" of "/usr/lib/libfoo.so.1.2": a package's update is no new bug.
std::string ModuleName(std::string_view path) {
  path = LastPart(path);
  const size_t so = path.find(".so.");
  return std::string(so == std::string_view::npos ? path : path.substr(0, so + 3));
}

// What the compiler appends when it makes a copy: f.constprop.0, f.isra.0.cold, f [clone .part.0]
std::string FunctionName(std::string_view name) {
  const size_t clone = name.find(" [clone");
  if (clone != std::string_view::npos) name = name.substr(0, clone);
  for (const std::string_view suffix : {".constprop", ".isra", ".part", ".cold", ".lto_priv", ".llvm."}) {
    const size_t at = name.find(suffix);
    if (at != std::string_view::npos && at > 0) name = name.substr(0, at);
  }
  return std::string(name);
}

bool CountsAsError(const Finding& finding) {
  return finding.severity == Severity::kError && finding.suppressed_by.empty();
}

// How many errors the processes count beyond those that stand in the report.
uint64_t ErrorsNotListed(const ReportSet& set) {
  std::vector<uint64_t> listed(set.processes.size());
  for (const SetFinding& one : set.findings) {
    if (!CountsAsError(one.finding)) continue;
    for (const IndexSet::Range& range : one.processes.ranges()) {
      for (size_t p = range.first; p <= range.last && p < listed.size(); ++p) ++listed[p];
    }
  }
  uint64_t more = 0;
  for (size_t p = 0; p < listed.size(); ++p) {
    const uint64_t counted = set.processes[p].summary.errors;
    if (counted > listed[p]) more += counted - listed[p];
  }
  return more;
}

}  // namespace

std::string LikenessOf(const std::vector<Frame>& frames) {
  std::string text;
  std::string last;
  for (const Frame& frame : WithoutStartCode(frames)) {
    std::string one = Cat(FunctionName(frame.function), "@", ModuleName(frame.is_python() ? frame.file : frame.module), "\n");
    // Frames without a name are all alike; a recursion's depth is no difference.
    if (one == last) continue;
    text += one;
    last = std::move(one);
  }
  return text;
}

std::string LikenessOf(const ReportSet& set, const Finding& finding) {
  std::string text = Cat(InfoOf(finding.rule).id, " ", finding.has_object ? finding.object.kind : "", "\n",
                         LikenessOf(set.stacks.Get(MatchedStackOf(finding))));
  // Of what was done wrong somewhere else than at the creation, the place of that belongs to it.
  const StackId here = StackOf(finding, StackRole::kHere);
  if (here != kNoStack && here != MatchedStackOf(finding)) Append(&text, "here\n", LikenessOf(set.stacks.Get(here)));
  return text;
}

std::string LikenessOf(const ReportSet& set, const AliveGroup& group) {
  return Cat(group.kind, "\n", LikenessOf(set.stacks.Get(group.stack)));
}

Comparison Compare(const ReportSet* before, const ReportSet& now) {
  std::unordered_map<std::string, std::vector<size_t>> old;
  if (before != nullptr) {
    for (size_t i = 0; i < before->findings.size(); ++i) {
      const Finding& finding = before->findings[i].finding;
      // A leak may have been a warning before `strict`.
      if (finding.suppressed_by.empty()) old[LikenessOf(*before, finding)].push_back(i);
    }
  }
  Comparison result;
  std::unordered_set<std::string> seen;
  for (size_t i = 0; i < now.findings.size(); ++i) {
    const Finding& finding = now.findings[i].finding;
    if (!CountsAsError(finding)) continue;
    const std::string likeness = LikenessOf(now, finding);
    seen.insert(likeness);
    (old.count(likeness) != 0 ? result.known : result.fresh).push_back(i);
  }
  if (before != nullptr) {
    for (size_t i = 0; i < before->findings.size(); ++i) {
      const Finding& finding = before->findings[i].finding;
      if (CountsAsError(finding) && seen.count(LikenessOf(*before, finding)) == 0) result.gone.push_back(i);
    }
  }
  const uint64_t known_to_lack = before == nullptr ? 0 : ErrorsNotListed(*before);
  const uint64_t lacks = ErrorsNotListed(now);
  result.not_listed = lacks > known_to_lack ? lacks - known_to_lack : 0;
  return result;
}

std::string InWords(const Comparison& comparison, bool has_baseline) {
  const auto errors = [](uint64_t count) { return Cat(count, count == 1 ? " error" : " errors"); };
  std::string text;
  if (has_baseline) {
    text = Cat(comparison.fresh.size(), " new ", comparison.fresh.size() == 1 ? "error" : "errors", ", ",
               comparison.known.size(), " known, ", comparison.gone.size(), " gone");
  } else {
    text = comparison.fresh.empty() ? "no errors" : errors(comparison.fresh.size());
  }
  if (comparison.not_listed > 0) {
    Append(&text, "; ", errors(comparison.not_listed), comparison.not_listed == 1 ? " is" : " are",
           " counted but not listed");
  }
  return text;
}

ReportSet Subset(const ReportSet& set, const std::vector<size_t>& findings) {
  ReportSet out;
  for (StackId id = 1; id < set.stacks.size(); ++id) out.stacks.Append(set.stacks.Get(id));
  out.processes = set.processes;
  for (const size_t i : findings) out.findings.push_back(set.findings[i]);
  return out;
}

std::vector<size_t> FirstFindings(const ReportSet& set, size_t most) {
  std::vector<size_t> first(std::min(set.findings.size(), most));
  std::iota(first.begin(), first.end(), size_t{0});
  return first;
}

void SuppressIn(ReportSet* set, Suppressions* suppressions) {
  for (SetFinding& one : set->findings) {
    if (!one.finding.suppressed_by.empty()) continue;
    const Suppression* row =
        suppressions->Match(InfoOf(one.finding.rule).id, set->stacks.Get(MatchedStackOf(one.finding)));
    if (row == nullptr) continue;
    one.finding.suppressed_by = row->Line();
    for (const IndexSet::Range& range : one.processes.ranges()) {
      for (size_t p = range.first; p <= range.last; ++p) {
        Summary& summary = set->processes[p].summary;
        uint64_t& count = one.finding.severity == Severity::kError     ? summary.errors
                          : one.finding.severity == Severity::kWarning ? summary.warnings
                                                                       : summary.notes;
        if (count > 0) --count;
        ++summary.suppressed;
      }
    }
  }
}

}  // namespace rdmacheck
