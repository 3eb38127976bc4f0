// How long a program that does nothing takes from posix_spawn to its end, with LD_PRELOAD and without, in turns.
// Prints the two medians in microseconds.
//
//   start_bench LIBRARY [RUNS] [PROGRAM]
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace {

double Now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

double RunOnce(const char* program, const char* preload) {
  const char* argv[] = {program, nullptr};
  const char* environment[] = {"PATH=/usr/bin:/bin", preload, nullptr};
  const double begin = Now();
  pid_t child = 0;
  if (posix_spawn(&child, program, nullptr, nullptr, const_cast<char* const*>(argv), const_cast<char* const*>(environment)) != 0) {
    fprintf(stderr, "start_bench: cannot run %s\n", program);
    exit(2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) {
    fprintf(stderr, "start_bench: %s failed\n", program);
    exit(2);
  }
  return Now() - begin;
}

double MedianOf(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string preload = std::string("LD_PRELOAD=") + argv[1];
  const int runs = argc > 2 ? atoi(argv[2]) : 2000;
  const char* program = argc > 3 ? argv[3] : "/bin/true";
  std::vector<double> with, without;
  for (int i = 0; i < runs; ++i) {
    // Which goes first changes, so that neither always finds the caches as the other left them.
    for (bool preloaded : {i % 2 == 0, i % 2 != 0}) {
      (preloaded ? with : without).push_back(RunOnce(program, preloaded ? preload.c_str() : nullptr));
    }
  }
  printf("%.1f %.1f\n", MedianOf(with), MedianOf(without));
  return 0;
}
