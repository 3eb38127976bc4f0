// write(2) that never blocks the program for long.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

namespace rdmacheck {

// What matters of a descriptor's file: can a write have to wait for a reader?
enum class StreamKind : uint8_t { kFile, kPipe, kSocket, kTerminal };

StreamKind StreamKindOf(int fd, mode_t mode);

// Writes all of it: by one write(2) where the system takes it whole. Waits for room as long as the reader reads, 2
// seconds while it reads nothing and a minute altogether, both for the whole process: then ETIMEDOUT, and at once from
// then on until there is room again. Else 0 or an errno value. The description's O_NONBLOCK is left alone: other
// processes share it.
int WritePatiently(int fd, StreamKind kind, std::string_view text);

}  // namespace rdmacheck
