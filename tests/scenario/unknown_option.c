// An unknown option and a bad value are reported once each, with the nearest name; what remains holds.
// RUN: on=fake options="strikt=1:stack_depth=many:exitcode=9" exit=9
// EXPECT: TOLD unknown option 'strikt'; did you mean 'strict'?
// EXPECT: TOLD bad value 'many' of option 'stack_depth'
// EXPECT: ERROR leak-at-close
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  MUST(ibv_alloc_pd(context) != NULL);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
