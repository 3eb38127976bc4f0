// What xz has packed: .gnu_debugdata ("MiniDebugInfo"), which some distributions leave in stripped files.
#pragma once

#include <string>
#include <string_view>

namespace rdmacheck {

// Empty: it is not of that form, is broken or cut off, or larger than anything that is meant (or memory is out).
std::string Unxz(std::string_view packed);

}  // namespace rdmacheck
