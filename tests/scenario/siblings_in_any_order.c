// Any order among siblings is legal: an MR before the QP that could use it, a QP with work outstanding, AHs and MRs that
// outlive the QP, a list that is freed before its device is used (B31, B32, B40, B73, B76, T13, T15, T16, T17).
// RUN: on=both options="strict=1" exit=0
// EXPECT-NOTHING
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  static char buffer[4096];
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
  struct ibv_mr* other = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);
  struct ibv_ah_attr where = ah_attr(context);
  struct ibv_ah* ah = ibv_create_ah(pd, &where);
  MUST(mr && other && qp && ah);
  MUST(to_init(qp) == 0);
  struct ibv_sge piece = {(uintptr_t)buffer, sizeof(buffer), mr->lkey};
  struct ibv_recv_wr work;
  memset(&work, 0, sizeof(work));
  work.sg_list = &piece;
  work.num_sge = 1;
  struct ibv_recv_wr* bad = NULL;
  MUST(ibv_post_recv(qp, &work, &bad) == 0);
  MUST(ibv_dereg_mr(mr) == 0);
  MUST(ibv_destroy_qp(qp) == 0);
  MUST(ibv_dereg_mr(other) == 0);
  MUST(ibv_destroy_ah(ah) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
