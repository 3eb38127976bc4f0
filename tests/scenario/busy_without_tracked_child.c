// The driver refuses and no child of ours explains it: it says that it does not know (B21, B98, T8).
// RUN: on=fake env="FAKE_FAIL=ibv_dealloc_pd=EBUSY" exit=0
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY: no tracked child explains it
// EXPECT: what uses this pd was created where rdmacheck does not look, or by another process
// EXPECT-NOT: 0 {{.*}}still use it
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  MUST(ibv_dealloc_pd(pd) == EBUSY);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
