// _exit gives no report of what is open, and what was found at a close before is on disk; the status is the program's own.
// RUN: on=both args="open" options="strict=1" exit=5
// EXPECT-NOTHING
// EXPECT-FILES: 0
//
// RUN: on=both args="closed" exit=5
// EXPECT: ERROR leak-at-close
// EXPECT-FILES: 1
// EXPECT-JSON: process.exit_status == null
// EXPECT-JSON: process.ended == null
// EXPECT-JSON: summary.errors == 1
#include "scenario.h"

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct ibv_context* context = open_device();
  MUST(ibv_alloc_pd(context) != NULL);
  if (strcmp(argv[1], "closed") == 0) MUST(ibv_close_device(context) == 0);
  _exit(5);
}
