// One object of each kind that the soft device has, left at close: one finding each, under the line that made it.
// RUN: on=both exit=23
// EXPECT: ERROR leak-at-close: ibv_close_device({{fake0|rxe0}}) leaves 11 objects alive: 1 pd, 1 comp_channel, 2 cq, 1 mr, 2 srq, 2 qp, 1 ah, 1 mw
// EXPECT: 1 pd
// EXPECT: #0 main leak_each_kind.c:@pd@ (
// EXPECT: 1 comp_channel #{{\d+}} on {{\w+}}: fd=
// EXPECT: #0 main leak_each_kind.c:@channel@ (
// EXPECT: 1 cq #{{\d+}} on {{\w+}}: cqe=
// EXPECT: #0 main leak_each_kind.c:@cq@ (
// EXPECT: 1 cq #
// EXPECT: #0 main leak_each_kind.c:@cq_ex@ (
// EXPECT: 1 mr #{{\d+}} on {{\w+}}: lkey=0x{{\w+}} rkey=0x{{\w+}} addr=0x{{\w+}} length=4096, 4.0 KiB
// EXPECT: #0 main leak_each_kind.c:@mr@ (
// EXPECT: 1 srq
// EXPECT: #0 main leak_each_kind.c:@srq@ (
// EXPECT: 1 srq
// EXPECT: #0 main leak_each_kind.c:@srq_ex@ (
// EXPECT: 1 qp #{{\d+}} on {{\w+}}: qpn=0x
// EXPECT: #0 main leak_each_kind.c:@qp@ (
// EXPECT: 1 qp #
// EXPECT: #0 main leak_each_kind.c:@qp_ex@ (
// EXPECT: 1 ah
// EXPECT: #0 main leak_each_kind.c:@ah@ (
// EXPECT: 1 mw #{{\d+}} on {{\w+}}: rkey=
// EXPECT: #0 main leak_each_kind.c:@mw@ (
// EXPECT-JSON: summary.errors == 11
// EXPECT-JSON: findings.length == 11
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);  // @pd
  struct ibv_comp_channel* channel = ibv_create_comp_channel(context);  // @channel
  struct ibv_cq* cq = ibv_create_cq(context, 16, NULL, channel, 0);  // @cq
  struct ibv_cq_init_attr_ex cq_ex_attr;
  memset(&cq_ex_attr, 0, sizeof(cq_ex_attr));
  cq_ex_attr.cqe = 16;
  struct ibv_cq_ex* cq_ex = ibv_create_cq_ex(context, &cq_ex_attr);  // @cq_ex
  static char buffer[4096];
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);  // @mr
  struct ibv_srq_init_attr shared = srq_attr();
  struct ibv_srq* srq = ibv_create_srq(pd, &shared);  // @srq
  struct ibv_srq_init_attr_ex shared_ex;
  memset(&shared_ex, 0, sizeof(shared_ex));
  shared_ex.attr.max_wr = 8;
  shared_ex.attr.max_sge = 1;
  shared_ex.comp_mask = IBV_SRQ_INIT_ATTR_PD;
  shared_ex.pd = pd;
  struct ibv_srq* srq_ex = ibv_create_srq_ex(context, &shared_ex);  // @srq_ex
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, srq);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);  // @qp
  struct ibv_qp_init_attr_ex attr_ex;
  memset(&attr_ex, 0, sizeof(attr_ex));
  attr_ex.qp_type = IBV_QPT_RC;
  attr_ex.send_cq = attr_ex.recv_cq = cq;
  attr_ex.cap.max_send_wr = attr_ex.cap.max_recv_wr = 4;
  attr_ex.cap.max_send_sge = attr_ex.cap.max_recv_sge = 1;
  attr_ex.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  attr_ex.send_ops_flags = IBV_QP_EX_WITH_SEND;
  attr_ex.pd = pd;
  struct ibv_qp* qp_ex = ibv_create_qp_ex(context, &attr_ex);  // @qp_ex
  struct ibv_ah_attr where = ah_attr(context);
  struct ibv_ah* ah = ibv_create_ah(pd, &where);  // @ah
  struct ibv_mw* mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);  // @mw
  MUST(pd && channel && cq && cq_ex && mr && srq && srq_ex && qp && qp_ex && ah && mw);
  MUST(ibv_close_device(context) == 0);
  return 0;
}

// RDMA-CORE: 44: the soft device of 33 has no memory windows
