// The first user's PD could not be allocated, the second registers with it: the failed ibv_alloc_pd is named (B59).
// RUN: on=fake env="FAKE_FAIL=ibv_alloc_pd=EINVAL" exit=23
// EXPECT: ERROR null-handle: ibv_reg_mr called with NULL pd; call not forwarded
// EXPECT: the last failed create of this kind: ibv_alloc_pd failed with EINVAL
// EXPECT: #0 second_user failed_pd_used_as_null.c:@use@ (
// EXPECT: #0 main failed_pd_used_as_null.c:@alloc@ (
#include "scenario.h"

static __attribute__((noinline)) void second_user(struct ibv_pd* pd) {
  static char buffer[64];
  MUST(ibv_reg_mr(pd, buffer, sizeof(buffer), 0) == NULL);  // @use
}

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);  // @alloc
  second_user(pd);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
