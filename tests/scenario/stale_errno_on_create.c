// A driver returns NULL and leaves errno alone, as some did before rdma-core 65: errno stays what the program had.
// RUN: on=fake env="FAKE_FAIL=ibv_create_qp=stale" exit=0
// EXPECT-NOTHING
// EXPECT-OUT: errno 7
// SAME-OUTPUT
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  errno = E2BIG;
  MUST(ibv_create_qp(pd, &attr) == NULL);
  printf("errno %d\n", errno);
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
