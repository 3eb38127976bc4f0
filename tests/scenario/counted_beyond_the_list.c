// More children than a finding lists, of several kinds, and more equal bugs than are written out: the counts add up.
// RUN: on=fake args="children" exit=0
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY: 505 mr, 505 qp still use it
// EXPECT: child {{mr|qp}} #
// EXPECT: and {{500|505}} more: child {{qp|mr}}, created at main counted_beyond_the_list.c:
// EXPECT: and {{500|505}} more: child {{qp|mr}}, created at main counted_beyond_the_list.c:
// EXPECT-JSON: findings[0].related.length == 200
// EXPECT-JSON: findings[0].related_not_listed.count == 810
//
// RUN: on=fake env="FAKE_KEEP=1" args="twice" exit=23
// EXPECT: ERROR double-destroy
// EXPECT: ERROR double-destroy
// EXPECT: ERROR double-destroy
// EXPECT: ERROR double-destroy
// EXPECT: ERROR double-destroy
// EXPECT: ERROR double-destroy
// EXPECT: ERROR double-destroy
// EXPECT: ERROR double-destroy
// EXPECT: ERROR double-destroy
// EXPECT: ERROR double-destroy
// EXPECT: TOLD double-destroy: 190 more not shown: ibv_dereg_mr at main counted_beyond_the_list.c:@again@, 200 times in all
// EXPECT: SUMMARY: rdmacheck: 1 error (double-destroy 1 seen 200 times)
// EXPECT-JSON: findings[0].count == 200
// EXPECT-JSON: summary.errors == 1
//
// Several closes that each leave something: one SUMMARY, the last line, and it has all of them.
// RUN: on=fake args="closes" exit=23
// EXPECT: ERROR leak-at-close
// EXPECT: ERROR leak-at-close
// EXPECT: SUMMARY: rdmacheck: 2 errors (leak-at-close 2)
// EXPECT-NOT: SUMMARY: rdmacheck: 1 error
#include "scenario.h"

static char buffer[64];

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  static struct ibv_mr* mrs[505];
  static struct ibv_qp* qps[505];
  if (strcmp(argv[1], "closes") == 0) {
    MUST(ibv_close_device(context) == 0);
    context = open_device();
    MUST(ibv_create_cq(context, 4, NULL, NULL, 0) != NULL && ibv_close_device(context) == 0);
    return 0;
  }
  const int many = strcmp(argv[1], "children") == 0 ? 505 : 200;
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  for (int i = 0; i < many; ++i) mrs[i] = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
  if (many == 505) {
    for (int i = 0; i < many; ++i) {
      struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
      qps[i] = ibv_create_qp(pd, &attr);
    }
    MUST(ibv_dealloc_pd(pd) == EBUSY);
    for (int i = 0; i < many; ++i) MUST(ibv_destroy_qp(qps[i]) == 0);
  }
  for (int i = 0; i < many; ++i) MUST(ibv_dereg_mr(mrs[i]) == 0);
  if (many == 200) {
    for (int i = 0; i < many; ++i) MUST(ibv_dereg_mr(mrs[i]) == EINVAL);  // @again
  }
  MUST(ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}
