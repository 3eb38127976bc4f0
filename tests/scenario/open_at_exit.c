// The process ends with its context open: a warning that leaves the status alone; with strict=1 an error.
// RUN: on=both exit=0
// EXPECT: WARNING open-at-exit: 2 objects are still open when the process ends: 1 context, 1 pd
// EXPECT: #0 main open_at_exit.c:@open@ (
// EXPECT: #0 main open_at_exit.c:@pd@ (
// EXPECT: SUMMARY: rdmacheck: 2 warnings (open-at-exit 2)
// EXPECT-JSON: summary.warnings == 2
// EXPECT-JSON: process.exit_status == 0
// SAME-OUTPUT
//
// RUN: on=both options="strict=1" exit=23
// EXPECT: ERROR open-at-exit: 2 objects are still open when the process ends: 1 context, 1 pd
// EXPECT: SUMMARY: rdmacheck: 2 errors (open-at-exit 2)
//
// RUN: on=both options="strict=1 exitcode=55" exit=55
// EXPECT: ERROR open-at-exit
// EXPECT-JSON: process.exit_status == 55
//
// RUN: on=both options="strict=1 exitcode=0" exit=0
// EXPECT: ERROR open-at-exit
//
// RUN: on=both options="strict=1" args="3" exit=3
// EXPECT: ERROR open-at-exit
//
// RUN: on=both options="check_at_exit=0 strict=1" exit=0
// EXPECT-NOTHING
#include "scenario.h"

int main(int argc, char** argv) {
  struct ibv_device** list = ibv_get_device_list(NULL);
  MUST(list != NULL && list[0] != NULL);
  struct ibv_context* context = ibv_open_device(list[0]);  // @open
  MUST(context != NULL);
  ibv_free_device_list(list);
  MUST(ibv_alloc_pd(context) != NULL);  // @pd
  puts("ends");
  return argc > 1 ? atoi(argv[1]) : 0;
}
