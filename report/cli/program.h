// What can be known of a program before it is started: where it is, and whether a library can be preloaded into it.
#pragma once

#include <string>
#include <vector>

namespace rdmacheck {

struct Program {
  std::string path;                    // as execvp() will find it; empty: nowhere
  std::vector<std::string> obstacles;  // sentences; each means that nothing of it will be seen
  bool wants_sanitizer_first = false;  // AddressSanitizer's runtime is a library that insists on being the first
};

// Follows `#!` to the interpreter, and `env` to what it starts.
Program LookAt(const std::vector<std::string>& command);

// A library of ours: where the variable says, beside this command (a build), or where it is installed. Empty: not found,
// and *places says where it was looked for.
std::string FindInstalled(const char* name, const char* variable, std::string* places);

// LD_PRELOAD with our library joined to what is there: after sanitizer runtimes, before all others, once.
std::string JoinPreload(const std::string& present, const std::string& library);

}  // namespace rdmacheck
