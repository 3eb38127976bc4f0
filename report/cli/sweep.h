// `rdmacheck run --sweep`: the program once for each call of a verb that it makes, with that call made to fail.
#pragma once

#include <string>
#include <vector>

#include "report/cli/run.h"

namespace rdmacheck {

struct SweepOptions {
  int most_runs = 200;
  double seconds = 0;              // of one run; 0: ten times what the program takes by itself, and at least ten
  std::vector<std::string> verbs;  // patterns; none: all
  std::string program;             // a pattern; only calls of processes with such a name
  std::string log;                 // where results are kept, and where an earlier sweep is gone on with
};

// The exit status.
int Sweep(const RunOptions& run, const SweepOptions& sweep);

}  // namespace rdmacheck
