// Tells what somebody who misspelt a name probably meant.
#pragma once

#include <string_view>
#include <vector>

namespace rdmacheck {

// The entry of `names` with the least edit distance to `name` (the first of equals); empty if there are no names.
std::string_view NearestName(std::string_view name, const std::vector<std::string_view>& names);

}  // namespace rdmacheck
