// A destroy returns EBUSY and leaves errno alone: what is reported is the result, and errno stays the program's (B63, V8).
// RUN: on=both exit=0
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY
// EXPECT: ibv_dealloc_pd returned EBUSY
// EXPECT-JSON: findings[0].result == 16
// EXPECT-OUT: result 16
// SAME-OUTPUT
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  static char buffer[64];
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
  MUST(mr != NULL);
  errno = E2BIG;
  const int result = ibv_dealloc_pd(pd);
  printf("result %d errno %d\n", result, errno);
  MUST(ibv_dereg_mr(mr) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
