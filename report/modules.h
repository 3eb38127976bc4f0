// Files of code, by their names.
#pragma once

#include <string_view>

namespace rdmacheck {

// What stands behind the last slash.
inline std::string_view LastPart(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// A provider of libibverbs: libmlx5.so.1, libmlx5-rdmav34.so.
bool IsProvider(std::string_view module);

// rdma-core's libraries and providers: a call from there is not the program's own.
bool IsOfRdmaCore(std::string_view module);

}  // namespace rdmacheck
