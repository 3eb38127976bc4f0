// What malloc and free of 64 bytes take, 16 frames deep: prints nanoseconds of the processor for a pair, the best of some runs. With
// LeakSanitizer or heaptrack preloaded and without (collect.py) it says what these add.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>

namespace {

constexpr int kFrames = 16, kRuns = 15;

double Now() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// main and the C library's two are frames too.
__attribute__((noinline)) double PairsAt(int levels, long pairs) {
  double took = 0;
  if (levels > 0) {
    took = PairsAt(levels - 1, pairs);
  } else {
    const double begun = Now();
    for (long i = 0; i < pairs; ++i) {
      void* block = malloc(64);
      asm volatile("" : "+r"(block) : : "memory");
      free(block);
    }
    took = Now() - begun;
  }
  asm volatile("" : "+m"(took));
  return took;
}

}  // namespace

int main(int argc, char** argv) {
  const long pairs = argc > 1 ? atol(argv[1]) : 100000;
  double best = 1e30;
  for (int i = 0; i < kRuns; ++i) best = std::min(best, PairsAt(kFrames - 4, pairs) / static_cast<double>(pairs));
  printf("%.1f\n", best);
  return 0;
}
