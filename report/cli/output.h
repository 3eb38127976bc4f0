#pragma once

#include <string>
#include <string_view>

namespace rdmacheck {

// Replaces the file as a whole, or writes to standard output for "" and "-". False: it was said why not.
bool WriteOutput(const std::string& path, std::string_view text);

// Can the file be written? Asked before a long job, so that its report is not lost at the end. False: it was said why.
bool CheckOutput(const std::string& path);

// Writes to a descriptor, all of it. 0 or an errno value.
int WriteAll(int fd, std::string_view text);

}  // namespace rdmacheck
