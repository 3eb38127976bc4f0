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

// A run that nobody watches: its output goes to a file, its input is empty, and it ends with all of its process group after
// `seconds` at the latest (SIGTERM, then SIGKILL). What of the group still runs when the program has ended is killed too.
struct BoundedEnd {
  ChildEnd end;
  bool timed_out = false;
  bool interrupted = false;  // this command was asked to end by SIGINT, SIGTERM or SIGHUP; the program was killed
  double seconds = 0;        // how long it took
};
BoundedEnd RunBounded(const std::vector<std::string>& command,
                      const std::vector<std::pair<std::string, std::string>>& environment, const std::string& output,
                      double seconds);

}  // namespace rdmacheck
