// What the provider makes and frees inside one call is one event (T21); a re-registration may move an MR to another PD,
// which then is the busy one.
// RUN: on=both options="strict=1" exit=0
// EXPECT-NOTHING
// EXPECT-JSON: summary.kinds.mr.created == 1
// EXPECT-JSON: summary.kinds.cq.created == 1
//
// RUN: on=fake args="move" options="strict=1" exit=0
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY: 1 mr still uses it
// EXPECT: child mr #
// EXPECT-JSON: findings.length == 1
#include "scenario.h"

int main(int argc, char** argv) {
  (void)argv;
  struct ibv_context* context = open_device();
  struct ibv_pd* first = ibv_alloc_pd(context);
  struct ibv_pd* second = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  MUST(ibv_resize_cq(cq, 8) == 0);
  static char buffer[8192];
  struct ibv_mr* mr = ibv_reg_mr(first, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
  MUST(mr != NULL);
  (void)ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
  if (argc > 1) {
    MUST(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, second, NULL, 0, 0) == 0);
    MUST(ibv_dealloc_pd(first) == 0);
    MUST(ibv_dealloc_pd(second) == EBUSY);
    first = NULL;
  }
  MUST(ibv_dereg_mr(mr) == 0);
  MUST(first == NULL || ibv_dealloc_pd(first) == 0);
  MUST(ibv_dealloc_pd(second) == 0);
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
