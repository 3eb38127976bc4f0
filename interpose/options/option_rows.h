// The rows of options.def as data, for the command.
#pragma once

#include <string_view>
#include <vector>

namespace rdmacheck {

struct OptionRow {
  std::string_view name, help;
  std::vector<std::string_view> choices;  // of yes and no, and of an enum; else empty
};

std::vector<OptionRow> OptionRows();

}  // namespace rdmacheck
