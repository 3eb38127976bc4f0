// An MR with a window bound to it cannot go; the windows of its PD are named as what may hold it (B29).
// RUN: on=fake env="FAKE_FAIL=ibv_dereg_mr=EINVAL" exit=0
// EXPECT: NOTE busy-destroy: ibv_dereg_mr of mr #{{.*}} returned EINVAL
// EXPECT: mw #
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  static char buffer[64];
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  struct ibv_mw* mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
  MUST(mr != NULL && mw != NULL);
  MUST(ibv_dereg_mr(mr) == EINVAL);
  MUST(ibv_dealloc_mw(mw) == 0);
  MUST(ibv_dereg_mr(mr) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
