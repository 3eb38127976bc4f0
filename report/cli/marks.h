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
  int status = -1;
  std::string journal;    // where it keeps its journal; empty: it has none
};

// In the order of their starts. Lines that make no sense are passed over: other programs can write there.
std::vector<Image> ReadMarks(const std::string& folder);

// Is the process alive, and still of this run?
bool StillRuns(const Image& image, const std::string& folder);

}  // namespace rdmacheck
