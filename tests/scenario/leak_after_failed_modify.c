// The error path of a set-up forgets its QP: the leak carries the call on it that failed (B61, B65).
// RUN: on=both env="FAKE_FAIL=ibv_modify_qp=EINVAL" exit=23
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 3 objects alive
// EXPECT: 1 qp #
// EXPECT: last failed call: ibv_modify_qp returned EINVAL
// EXPECT: #0 set_up leak_after_failed_modify.c:@qp@ (
// EXPECT-JSON: findings[object.kind=qp].object.last_failed_call.verb == ibv_modify_qp
// EXPECT-JSON: findings[object.kind=qp].object.last_failed_call.result == 22
#include "scenario.h"

static __attribute__((noinline)) int set_up(struct ibv_pd* pd, struct ibv_cq* cq) {
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);  // @qp
  struct ibv_qp_attr to;
  memset(&to, 0, sizeof(to));
  to.qp_state = IBV_QPS_RTS;  // from RESET: not legal
  if (ibv_modify_qp(qp, &to, IBV_QP_STATE) != 0) return -1;
  return ibv_destroy_qp(qp);
}

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  MUST(cq != NULL);
  MUST(set_up(pd, cq) == -1);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
