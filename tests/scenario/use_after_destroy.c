// Verbs are given handles of dead objects: a QP that is queried, a PD and a CQ that something is made from (B35, B36).
// RUN: on=fake args="query" env="FAKE_KEEP=1" exit=23
// EXPECT: ERROR use-after-destroy: ibv_query_qp called with qp #{{\d+}}{{.*}}, which was destroyed earlier
// EXPECT: used here
// EXPECT: #0 main use_after_destroy.c:@query@ (
// EXPECT: created
// EXPECT: #0 main use_after_destroy.c:@qp@ (
// EXPECT: destroyed
// EXPECT: #0 main use_after_destroy.c:@destroy@ (
//
// The real library reads freed memory then; the finding has left before.
// RUN: on=device args="query" exit=SIGSEGV
// EXPECT: ERROR use-after-destroy: ibv_query_qp called with qp #{{\d+}}{{.*}}, which was destroyed earlier
//
// RUN: on=fake args="pd" env="FAKE_KEEP=1" exit=23
// EXPECT: ERROR use-after-destroy: ibv_reg_mr called with pd #{{\d+}}{{.*}}, which was destroyed earlier
//
// RUN: on=both args="none" exit=0
// EXPECT-NOTHING
#include "scenario.h"

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);  // @qp
  MUST(qp != NULL);
  struct ibv_qp_attr queried;
  struct ibv_qp_init_attr init;
  MUST(ibv_query_qp(qp, &queried, IBV_QP_STATE, &init) == 0);
  MUST(ibv_destroy_qp(qp) == 0);  // @destroy
  if (strcmp(argv[1], "query") == 0) ibv_query_qp(qp, &queried, IBV_QP_STATE, &init);  // @query
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  static char buffer[64];
  if (strcmp(argv[1], "pd") == 0) ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
