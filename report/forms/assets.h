// Texts that the build puts into the command (embed.py): the page's parts and docs/rules.md.
#pragma once

#include <string_view>

namespace rdmacheck {

extern const std::string_view kPageHead;   // up to where the report's JSON goes
extern const std::string_view kPageTail;   // what follows it
extern const std::string_view kRulesPage;  // docs/rules.md

struct RuleHelp {
  std::string_view what;      // its first paragraph, without the heading "What."
  std::string_view markdown;  // the section, without its title
};
RuleHelp HelpOf(std::string_view rule_id);  // empty where the page has no such section

}  // namespace rdmacheck
