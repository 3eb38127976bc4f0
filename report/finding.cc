#include "report/finding.h"

#include <algorithm>
#include <cstddef>

namespace rdmacheck {
namespace {

constexpr RuleInfo kRules[] = {
#define RDMACHECK_RULE(name, id, severity, title, fix) {id, severity, title, fix},
#include "report/rules.def"
#undef RDMACHECK_RULE
};

constexpr size_t kRuleCount = sizeof(kRules) / sizeof(kRules[0]);

}  // namespace

const RuleInfo& InfoOf(Rule rule) { return kRules[static_cast<size_t>(rule) % kRuleCount]; }

std::vector<std::string_view> AllRuleIds() {
  std::vector<std::string_view> ids;
  ids.reserve(kRuleCount);
  for (const RuleInfo& info : kRules) ids.emplace_back(info.id);
  return ids;
}

const char* NameOf(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "note";
}

const char* NameOf(StackRole role) {
  switch (role) {
    case StackRole::kHere:
      return "here";
    case StackRole::kCreated:
      return "created";
    case StackRole::kDestroyed:
      return "destroyed";
    case StackRole::kClosed:
      return "closed";
    case StackRole::kEventTaken:
      return "event-taken";
    case StackRole::kOtherThread:
      return "other-thread";
  }
  return "here";
}

const char* NameOf(Role role) {
  switch (role) {
    case Role::kChild:
      return "child";
    case Role::kParent:
      return "parent";
    case Role::kContext:
      return "context";
    case Role::kHolder:
      return "holder";
  }
  return "child";
}

void KindCounts::Add(const std::string& kind, uint64_t count) {
  total_ += count;
  for (auto& [known, sum] : counts_) {
    if (known == kind) {
      sum += count;
      return;
    }
  }
  counts_.emplace_back(kind, count);
}

void KindCounts::SortByCount() {
  std::stable_sort(counts_.begin(), counts_.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
}

FindingCounts::OfRule& FindingCounts::RowOf(Rule rule, Severity severity) {
  for (OfRule& row : rules_) {
    if (row.rule == rule && row.severity == severity) return row;
  }
  rules_.push_back({rule, severity, 0, 0});
  return rules_.back();
}

void FindingCounts::Add(Rule rule, Severity severity, uint64_t findings, uint64_t times) {
  OfRule& row = RowOf(rule, severity);
  row.findings += findings;
  row.times += times;
}

void FindingCounts::Remove(Rule rule, Severity severity, uint64_t findings, uint64_t times) {
  OfRule& row = RowOf(rule, severity);
  row.findings -= findings;
  row.times -= times;
}

uint64_t FindingCounts::Of(Severity severity) const {
  uint64_t sum = 0;
  for (const OfRule& row : rules_) sum += row.severity == severity ? row.findings : 0;
  return sum;
}

FindingCounts CountsOf(const std::vector<Finding>& findings) {
  FindingCounts counts;
  for (const Finding& finding : findings) {
    if (finding.suppressed_by.empty()) {
      counts.Add(finding.rule, finding.severity, 1, finding.times);
    } else {
      ++counts.suppressed;
    }
  }
  return counts;
}

bool IsLeak(Rule rule) {
  switch (rule) {
    case Rule::kLeakAtClose:
    case Rule::kOpenAtExit:
    case Rule::kDeviceListLeak:
    case Rule::kCmIdLeak:
    case Rule::kCmChannelLeak:
      return true;
    default:
      return false;
  }
}

StackId StackOf(const Finding& finding, StackRole role) {
  for (const StackRef& stack : finding.stacks) {
    if (stack.role == role) return stack.id;
  }
  return kNoStack;
}

StackId CreatedStackOf(const Finding& finding) {
  const StackId created = StackOf(finding, StackRole::kCreated);
  return created != kNoStack || !finding.has_object ? created : finding.object.created;
}

StackId MatchedStackOf(const Finding& finding) {
  const StackId created = CreatedStackOf(finding);
  return created != kNoStack || finding.stacks.empty() ? created : finding.stacks.front().id;
}

}  // namespace rdmacheck
