// A QP goes, or is refused, while it is attached to a multicast group: this rule is reported alone, not busy-destroy.
// RUN: on=both args="destroy" exit=23
// EXPECT: ERROR mcast-attached: ibv_destroy_qp of qp #
// EXPECT: child mcast #
// EXPECT-NOT: busy-destroy
//
// RUN: on=fake args="destroy" env="FAKE_LAX=1" exit=23
// EXPECT: ERROR mcast-attached: ibv_destroy_qp of qp #{{.*}} while it is attached to 1 multicast group
// EXPECT-NOT: destroyed-before-child
//
// RUN: on=both args="detach" exit=0
// EXPECT-NOTHING
#include "scenario.h"

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_UD, cq, NULL);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);
  MUST(qp != NULL && to_init(qp) == 0);
  union ibv_gid group;
  memset(&group, 0, sizeof(group));
  group.raw[0] = 0xff;
  group.raw[1] = 0x0e;
  group.raw[15] = 7;
  MUST(ibv_attach_mcast(qp, &group, 0) == 0);
  int gone = 0;
  if (strcmp(argv[1], "destroy") == 0) gone = ibv_destroy_qp(qp) == 0;
  if (!gone) {
    MUST(ibv_detach_mcast(qp, &group, 0) == 0);
    MUST(ibv_destroy_qp(qp) == 0);
  }
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
