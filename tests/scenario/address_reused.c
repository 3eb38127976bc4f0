// The allocator gives an address out again at once: what lives there is not what died there (T11).
// RUN: on=both options="strict=1" exit=0
// EXPECT-NOTHING
// EXPECT-JSON: summary.kinds.pd.created == 200
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  static char buffer[64];
  for (int i = 0; i < 200; ++i) {
    struct ibv_pd* pd = ibv_alloc_pd(context);
    struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
    MUST(pd != NULL && mr != NULL);
    MUST(ibv_dereg_mr(mr) == 0);
    MUST(ibv_dealloc_pd(pd) == 0);
  }
  MUST(ibv_close_device(context) == 0);
  return 0;
}
