// A PD with 1,000 MRs: five in words, the rest as a count by their creating stack.
// RUN: on=fake exit=0
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY: 1000 mr still use it
// EXPECT: child mr #
// EXPECT: child mr #
// EXPECT: child mr #
// EXPECT: child mr #
// EXPECT: child mr #
// EXPECT: and {{\d+}} more: child mr, created at main busy_with_many_children.c:@mr@
// EXPECT: called here
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  static char buffer[64];
  struct ibv_mr* mrs[1000];
  for (int i = 0; i < 1000; ++i) mrs[i] = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);  // @mr
  MUST(ibv_dealloc_pd(pd) == EBUSY);
  for (int i = 0; i < 1000; ++i) MUST(ibv_dereg_mr(mrs[i]) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
