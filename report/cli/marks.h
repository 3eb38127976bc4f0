// What the processes of a run left behind besides their reports (interpose/options/run_mark.h writes it).
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace rdmacheck {

// One program in one process: an exec begins a new one.
struct Image {
  pid_t pid = 0;
  std::string loaded;   // a number that tells two images of a pid apart
  std::string program;  // its name
  bool called_verbs = false;
  bool forked = false;    // came from a process that had called verbs, and loaded nothing itself
  bool ended = false;     // by exit()
  bool replaced = false;  // another image followed in the same process
  bool running = false;   // when the marks were read; see SettledMarks()
  int status = -1;
  std::string journal;    // where it keeps its journal; empty: it has none
};

// In the order of their starts. Lines that make no sense are passed over: other programs can write there.
std::vector<Image> ReadMarks(const std::string& folder);

// The same, once the processes that are about to end have ended: waits a fifth of a second for those that run, and some
// seconds for those that are being killed, which timeout(1) and shells do not wait for. `running`: how many processes
// with this folder in their environment are left, also those that have made no mark.
std::vector<Image> SettledMarks(const std::string& folder, size_t* running);

}  // namespace rdmacheck
