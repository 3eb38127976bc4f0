// The refusal of a CQ is ignored (B23, B25, B30, B64, B67, B88): a note at once, an error at the close, and told with
// the leak. What used it has been destroyed since.
// RUN: on=both exit=23
// EXPECT: NOTE busy-destroy: ibv_destroy_cq of cq #{{.*}} returned EBUSY: 1 qp still use
// EXPECT: child qp #
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 1 object alive: 1 cq
// EXPECT: last failed call: ibv_destroy_cq returned EBUSY
// EXPECT: destroy refused and never retried
// EXPECT: ERROR busy-destroy: ibv_destroy_cq of cq #{{.*}} returned EBUSY and no later try succeeded before its context was closed
// EXPECT: what was seen using it has been destroyed since, and the destroy was not tried again
// EXPECT: #0 main busy_destroy_never_retried.c:@refused@ (
// EXPECT-JSON: findings[rule=leak-at-close].object.last_failed_call.verb == ibv_destroy_cq
// EXPECT-JSON: findings[rule=leak-at-close].object.last_failed_call.result == 16
// EXPECT-JSON: findings[rule=busy-destroy].severity == error
//
// RUN: on=both args="exit" exit=23
// EXPECT: NOTE busy-destroy: ibv_destroy_cq of cq #
// EXPECT: ERROR busy-destroy: ibv_destroy_cq of cq #{{.*}} returned EBUSY and no later try succeeded before the process ended
// EXPECT: WARNING open-at-exit: 2 objects are still open when the process ends: 1 context, 1 cq
#include "scenario.h"

int main(int argc, char** argv) {
  (void)argv;
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);
  MUST(qp != NULL);
  (void)ibv_destroy_cq(cq);  // @refused
  MUST(ibv_destroy_qp(qp) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  if (argc == 1) MUST(ibv_close_device(context) == 0);
  return 0;
}
