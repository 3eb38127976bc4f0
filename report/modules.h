// Files of code, by their names.
#pragma once

#include <string_view>

namespace rdmacheck {

// What stands behind the last slash.
inline std::string_view LastPart(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// rdma-core's libraries and providers (libmlx5-rdmav34.so is one): a call from there is not the program's own.
bool IsOfRdmaCore(std::string_view module);

}  // namespace rdmacheck
