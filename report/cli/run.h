// `rdmacheck run`: a program with the library in it and in its children, and one answer for all of them.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace rdmacheck {

struct RunOptions {
  bool strict = false;
  bool require_verbs = false;
  bool no_children = false;
  bool github = false;
  std::map<std::string, std::string> outputs;  // a form's name, and the file
  std::vector<std::string> suppressions;
  std::string baseline, write_baseline;
  std::vector<std::string> options;  // k=v
  std::vector<std::string> faults;   // docs/faults.md
  std::vector<std::string> command;
};

// The exit status.
int Run(const RunOptions& options);

}  // namespace rdmacheck
