// halt_on_error=1: abort() in the verb that caused the first error, with the JSON written before.
// RUN: on=both options="halt_on_error=1" exit=SIGABRT
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 1 object alive: 1 pd
// EXPECT: SUMMARY: rdmacheck: 1 error (leak-at-close 1)
// EXPECT-JSON: summary.errors == 1
// EXPECT-JSON: process.exit_status == null
//
// RUN: on=both exit=23
// EXPECT-OUT: went on
// EXPECT: ERROR leak-at-close
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  MUST(ibv_alloc_pd(context) != NULL);
  MUST(ibv_close_device(context) == 0);
  puts("went on");
  return 0;
}
