// Everything that leak_*.c leave behind, released in a legal order: nothing to say, no file, no other status.
// RUN: on=both options="strict=1" exit=7
// EXPECT-NOTHING
// EXPECT-FILES: 1
// EXPECT-JSON: summary.errors == 0
// SAME-OUTPUT
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_comp_channel* channel = ibv_create_comp_channel(context);
  struct ibv_cq* cq = ibv_create_cq(context, 16, NULL, channel, 0);
  static char buffer[4096];
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
  struct ibv_srq_init_attr shared = srq_attr();
  struct ibv_srq* srq = ibv_create_srq(pd, &shared);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, srq);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);
  struct ibv_ah_attr where = ah_attr(context);
  struct ibv_ah* ah = ibv_create_ah(pd, &where);
  struct ibv_mw* mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
  MUST(pd && channel && cq && mr && srq && qp && ah && mw);
  MUST(ibv_dealloc_mw(mw) == 0);
  MUST(ibv_destroy_ah(ah) == 0);
  MUST(ibv_destroy_qp(qp) == 0);
  MUST(ibv_destroy_srq(srq) == 0);
  MUST(ibv_dereg_mr(mr) == 0);
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_destroy_comp_channel(channel) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  puts("released");
  return 7;
}

// RDMA-CORE: 44: the soft device of 33 has no memory windows
