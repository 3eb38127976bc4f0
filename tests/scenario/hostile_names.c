// Names that hold escape sequences, newlines and bytes that are no UTF-8 are shown, and never reach the terminal.
// RUN: on=both exit=23
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 1 object alive: 1 pd
// EXPECT: by thread {{\d+}} (t\x1b[2J\x0aERR
// EXPECT: #0 leak hostile_names.c:@leak@ (
#include <sys/prctl.h>

#include "scenario.h"

static __attribute__((noinline)) void leak(struct ibv_context* context) {
  struct ibv_pd* pd = ibv_alloc_pd(context);  // @leak
  MUST(pd != NULL);
}

int main(void) {
  MUST(prctl(PR_SET_NAME, "t\033[2J\nERR\xfe") == 0);
  struct ibv_context* context = open_device();
  leak(context);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
