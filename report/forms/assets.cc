#include "report/forms/assets.h"

#include <algorithm>
#include <cstddef>

#include "report/cat.h"

namespace rdmacheck {

RuleHelp HelpOf(std::string_view rule_id) {
  RuleHelp help;
  const std::string title = Cat("\n## ", rule_id, "\n");
  const size_t at = kRulesPage.find(title);
  if (at == std::string_view::npos) return help;
  std::string_view section = kRulesPage.substr(at + title.size());
  section = section.substr(0, section.find("\n## "));
  while (!section.empty() && section.front() == '\n') section.remove_prefix(1);
  while (!section.empty() && section.back() == '\n') section.remove_suffix(1);
  help.markdown = section;
  constexpr std::string_view kWhat = "**What.** ";
  if (section.substr(0, kWhat.size()) == kWhat) {
    help.what = section.substr(kWhat.size());
    help.what = help.what.substr(0, std::min(help.what.find("\n\n"), help.what.size()));
  }
  return help;
}

}  // namespace rdmacheck
