// create_cq fails on a broken device, and later code goes on with the NULL it got (B37, B65).
// RUN: on=fake env="FAKE_FAIL=ibv_create_cq=EINVAL" exit=23
// EXPECT: ERROR null-handle: ibv_destroy_cq called with NULL cq; call not forwarded
// EXPECT: the last failed create of this kind: ibv_create_cq failed with EINVAL
// EXPECT: #0 main null_cq_after_failed_create.c:@create@ (
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);  // @create
  MUST(cq == NULL);
  MUST(ibv_destroy_cq(cq) == EINVAL);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
