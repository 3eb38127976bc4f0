// Starts a program and waits for it as if this command were not there: it keeps the terminal, the descriptors, the
// process group and the signals it would have had.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace rdmacheck {

struct ChildEnd {
  pid_t pid = 0;
  int start_error = 0;  // an errno value: it could not be started
  int status = 0;       // as waitpid() has it
  // What a shell would say: its status, 128 and the signal, 127 or 126.
  int ExitStatus() const;
  std::string InWords() const;  // "signal 9 (SIGKILL)", "status 3"
};

// `environment`: variables to set, on top of those that are there. Signals that are sent to this process alone are
// passed on; those of the terminal reach the program by themselves.
ChildEnd RunChild(const std::vector<std::string>& command,
                  const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace rdmacheck
