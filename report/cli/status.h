// How the command ends (docs/command.md).
#pragma once

namespace rdmacheck {

inline constexpr int kClean = 0;
inline constexpr int kFindings = 23;
inline constexpr int kBadUsage = 2;         // or unreadable input, or output that cannot be written
inline constexpr int kCannotExecute = 126;  // as a shell says it
inline constexpr int kNotFound = 127;

}  // namespace rdmacheck
