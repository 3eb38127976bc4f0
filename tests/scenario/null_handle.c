// Cleaning up after a create that failed, with the NULL it gave: not forwarded, and the failed create is shown (B37, B65).
// RUN: on=fake args="destroy" env="FAKE_FAIL=ibv_create_qp=EINVAL" exit=23
// EXPECT: ERROR null-handle: ibv_destroy_qp called with NULL qp; call not forwarded
// EXPECT: the last failed create of this kind: ibv_create_qp failed with EINVAL
// EXPECT: #0 main null_handle.c:@destroy@ (
// EXPECT: #0 main null_handle.c:@create@ (
//
// RUN: on=device args="destroy" exit=23
// EXPECT: ERROR null-handle: ibv_destroy_qp called with NULL qp; call not forwarded
// EXPECT: the last failed create of this kind: ibv_create_qp failed with E
//
// RUN: on=both args="register" env="FAKE_FAIL=ibv_create_qp=EINVAL" exit=23
// EXPECT: ERROR null-handle: ibv_reg_mr called with NULL pd; call not forwarded
//
// RUN: on=both args="none" env="FAKE_FAIL=ibv_create_qp=EINVAL" exit=0
// EXPECT-NOTHING
#include "scenario.h"

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  attr.cap.max_send_wr = 1 << 30;
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);  // @create
  MUST(qp == NULL);
  if (strcmp(argv[1], "destroy") == 0) MUST(ibv_destroy_qp(qp) == EINVAL);  // @destroy
  static char buffer[64];
  errno = 0;
  if (strcmp(argv[1], "register") == 0) {
    struct ibv_pd* none = NULL;
    MUST(ibv_reg_mr(none, buffer, sizeof(buffer), 0) == NULL && errno == EINVAL);
  }
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
