// A handle is destroyed twice: said with both places and the creation, not forwarded, and the process lives (B35).
// RUN: on=both args="qp" exit=23
// EXPECT: ERROR double-destroy: ibv_destroy_qp of qp #{{\d+}} qpn=0x{{\w+}}{{.*}}, which was destroyed earlier; call not forwarded
// EXPECT: destroyed again here
// EXPECT: #0 main double_destroy.c:@qp_again@ (
// EXPECT: created
// EXPECT: #0 main double_destroy.c:@qp@ (
// EXPECT: first destroyed
// EXPECT: #0 main double_destroy.c:@qp_first@ (
// EXPECT-JSON: findings[0].stacks[role=destroyed].frames[0].function == main
// EXPECT-JSON: findings[0].object.kind == qp
//
// RUN: on=both args="pd" exit=23
// EXPECT: ERROR double-destroy: ibv_dealloc_pd of pd #
// RUN: on=both args="mr" exit=23
// EXPECT: ERROR double-destroy: ibv_dereg_mr of mr #
// RUN: on=both args="cq" exit=23
// EXPECT: ERROR double-destroy: ibv_destroy_cq of cq #
// The inline function reads the window before anybody can look: only where dead memory stays readable.
// RUN: on=fake args="mw" env="FAKE_KEEP=1" exit=23
// EXPECT: ERROR double-destroy: ibv_dealloc_mw of mw #
// RUN: on=both args="ah" exit=23
// EXPECT: ERROR double-destroy: ibv_destroy_ah of ah #
// RUN: on=both args="srq" exit=23
// EXPECT: ERROR double-destroy: ibv_destroy_srq of srq #
// RUN: on=both args="channel" exit=23
// EXPECT: ERROR double-destroy: ibv_destroy_comp_channel of comp_channel #
// RUN: on=both args="context" exit=23
// EXPECT: ERROR double-destroy: ibv_close_device of context #
// RUN: on=both args="list" exit=23
// EXPECT: ERROR double-destroy: ibv_free_device_list of device_list #
// RUN: on=both args="none" exit=0
// EXPECT-NOTHING
#include "scenario.h"

int main(int argc, char** argv) {
  MUST(argc == 2);
  const char* twice = argv[1];
#define AGAIN(name) (strcmp(twice, name) == 0)
  struct ibv_device** list = ibv_get_device_list(NULL);
  struct ibv_context* context = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  if (AGAIN("list")) ibv_free_device_list(list);
  struct ibv_pd* pd = ibv_alloc_pd(context);
  static char buffer[64];
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
  struct ibv_comp_channel* channel = ibv_create_comp_channel(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, channel, 0);
  struct ibv_srq_init_attr shared = srq_attr();
  struct ibv_srq* srq = ibv_create_srq(pd, &shared);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, srq);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);  // @qp
  struct ibv_ah_attr where = ah_attr(context);
  struct ibv_ah* ah = ibv_create_ah(pd, &where);
  struct ibv_mw* mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
  MUST(pd && mr && channel && cq && srq && qp && ah && mw);

  MUST(ibv_dealloc_mw(mw) == 0);
  if (AGAIN("mw")) MUST(ibv_dealloc_mw(mw) == EINVAL);
  MUST(ibv_destroy_ah(ah) == 0);
  if (AGAIN("ah")) MUST(ibv_destroy_ah(ah) == EINVAL);
  MUST(ibv_destroy_qp(qp) == 0);  // @qp_first
  if (AGAIN("qp")) MUST(ibv_destroy_qp(qp) == EINVAL);  // @qp_again
  MUST(ibv_destroy_srq(srq) == 0);
  if (AGAIN("srq")) MUST(ibv_destroy_srq(srq) == EINVAL);
  MUST(ibv_dereg_mr(mr) == 0);
  if (AGAIN("mr")) MUST(ibv_dereg_mr(mr) == EINVAL);
  MUST(ibv_destroy_cq(cq) == 0);
  if (AGAIN("cq")) MUST(ibv_destroy_cq(cq) == EINVAL);
  MUST(ibv_destroy_comp_channel(channel) == 0);
  if (AGAIN("channel")) MUST(ibv_destroy_comp_channel(channel) == EINVAL);
  MUST(ibv_dealloc_pd(pd) == 0);
  if (AGAIN("pd")) MUST(ibv_dealloc_pd(pd) == EINVAL);
  MUST(ibv_close_device(context) == 0);
  if (AGAIN("context")) MUST(ibv_close_device(context) == EINVAL);
  return 0;
}

// RDMA-CORE: 44: the soft device of 33 has no memory windows
