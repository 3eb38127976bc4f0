#include "report/finding.h"

#include <cstddef>

namespace rdmacheck {
namespace {

constexpr RuleInfo kRules[] = {
#define RDMACHECK_RULE(name, id, severity, title) {id, severity, title},
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

}  // namespace rdmacheck
