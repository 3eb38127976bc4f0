// A report that cannot be written where it should goes to standard error, which says so.
// RUN: on=fake options="log_path=/nowhere/at/all" log=stderr exit=23
// EXPECT: TOLD cannot write the report to /nowhere/at/all: No such file or directory; it is written to standard error
// EXPECT: ERROR leak-at-close
//
// RUN: on=fake options="json_path=/nowhere/at/all.json" exit=23
// EXPECT: ERROR leak-at-close
// EXPECT: TOLD cannot write /nowhere/at/all.json: No such file or directory
//
// RUN: on=fake options="log_path=/dev/full" log=stderr exit=23
// EXPECT: TOLD cannot write the report to /dev/full: No space left on device; it is written to standard error
// EXPECT: ERROR leak-at-close
//
// RUN: on=fake log=stderr exit=23
// EXPECT: ERROR leak-at-close
//
// RUN: on=fake options="log_path=stdout" log=stdout exit=23
// EXPECT: ERROR leak-at-close
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  MUST(ibv_alloc_pd(context) != NULL);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
