// One deregistration fails and the buffer is freed all the same: the MR is reported with the refusal (B66).
// RUN: on=fake env="FAKE_FAIL=ibv_dereg_mr=EFAULT" exit=23
// EXPECT: ERROR leak-at-close: ibv_close_device(fake0) leaves 2 objects alive: 1 pd, 1 mr
// EXPECT: 1 mr #
// EXPECT: last failed call: ibv_dereg_mr returned EFAULT
// EXPECT-JSON: findings[object.kind=mr].object.last_failed_call.result == 14
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  char* buffer = (char*)malloc(4096);
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, 4096, IBV_ACCESS_LOCAL_WRITE);
  MUST(ibv_dereg_mr(mr) == EFAULT);
  free(buffer);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
