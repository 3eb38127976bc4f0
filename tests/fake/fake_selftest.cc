// Each create and destroy of libibverbs on the fake libibverbs, and what refuses to go while what lives.
#include "fake_selftest.h"

#include <fcntl.h>
#include <unistd.h>

#include <vector>

namespace {

TEST_F(FakeTest, ListsAsManyDevicesAsAsked) {
  fake_set("FAKE_DEVICES", "2");
  int count = -1;
  ibv_device** list = ibv_get_device_list(&count);
  ASSERT_EQ(count, 2);
  EXPECT_STREQ(ibv_get_device_name(list[1]), "fake1");
  EXPECT_EQ(list[2], nullptr);
  ibv_free_device_list(list);

  fake_set("FAKE_DEVICES", "0");
  list = ibv_get_device_list(&count);
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(list[0], nullptr);
  ibv_free_device_list(list);
}

TEST_F(FakeTest, ImportOwnsItsFileDescriptor) {
  const int fd = open("/dev/null", O_RDWR);
  ibv_context* imported = ibv_import_device(fd);
  ASSERT_NE(imported, nullptr);
  EXPECT_EQ(imported->cmd_fd, fd);
  EXPECT_EQ(ibv_close_device(imported), 0);
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
}

TEST_F(FakeTest, PdIsBusyWhileAnythingUsesIt) {
  ibv_pd* pd = ibv_alloc_pd(context_);
  ibv_mr* mr = ibv_reg_mr(pd, buffer_, sizeof buffer_, 0);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->pd, pd);
  EXPECT_EQ(mr->addr, buffer_);
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);

  ibv_mw* mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
  EXPECT_EQ(ibv_dealloc_mw(mw), 0);

  ibv_ah_attr attr = {};
  ibv_ah* ah = ibv_create_ah(pd, &attr);
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
  EXPECT_EQ(ibv_destroy_ah(ah), 0);

  ibv_srq* srq = NewSrq(pd);
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);

  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(FakeTest, QpHoldsItsQueues) {
  ibv_pd* pd = ibv_alloc_pd(context_);
  ibv_comp_channel* channel = ibv_create_comp_channel(context_);
  ibv_cq* cq = NewCq(channel);
  ibv_srq* srq = NewSrq(pd);
  ibv_qp* qp = NewQp(pd, cq, srq);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(ibv_destroy_cq(cq), EBUSY);
  EXPECT_EQ(ibv_destroy_srq(srq), EBUSY);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), EBUSY);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(FakeTest, QpIsBusyInAMulticastGroup) {
  ibv_pd* pd = ibv_alloc_pd(context_);
  ibv_cq* cq = NewCq();
  ibv_qp* qp = NewQp(pd, cq, nullptr, IBV_QPT_UD);
  ibv_gid gid = {};
  gid.raw[0] = 0xff;
  EXPECT_EQ(ibv_attach_mcast(qp, &gid, 1), 0);
  EXPECT_EQ(ibv_attach_mcast(qp, &gid, 1), 0);  // allowed, counts once
  EXPECT_EQ(ibv_destroy_qp(qp), EBUSY);
  EXPECT_EQ(ibv_detach_mcast(qp, &gid, 2), EINVAL);
  EXPECT_EQ(ibv_detach_mcast(qp, &gid, 1), 0);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(FakeTest, ParentDomainHoldsPdAndThreadDomain) {
  ibv_pd* pd = ibv_alloc_pd(context_);
  ibv_td_init_attr td_attr = {};
  ibv_td* td = ibv_alloc_td(context_, &td_attr);
  ibv_parent_domain_init_attr attr = {};
  attr.pd = pd;
  attr.td = td;
  ibv_pd* domain = ibv_alloc_parent_domain(context_, &attr);
  ASSERT_NE(domain, nullptr);
  EXPECT_EQ(domain->handle, pd->handle);
  EXPECT_EQ(ibv_dealloc_td(td), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);

  ibv_cq* cq = NewCq();
  ibv_qp* qp = NewQp(domain, cq);
  EXPECT_EQ(ibv_dealloc_pd(domain), EBUSY);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);

  ibv_mr* mr = ibv_reg_mr(domain, buffer_, sizeof buffer_, 0);  // counts on the PD inside only
  EXPECT_EQ(ibv_dealloc_pd(domain), 0);
  EXPECT_EQ(ibv_dealloc_td(td), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(FakeTest, MrWithABoundWindowIsRefused) {
  ibv_pd* pd = ibv_alloc_pd(context_);
  ibv_cq* cq = NewCq();
  ibv_qp* qp = NewQp(pd, cq);
  ibv_mr* mr = ibv_reg_mr(pd, buffer_, sizeof buffer_, 0);
  ibv_mw* mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
  ibv_mw_bind bind = {};
  bind.bind_info.mr = mr;
  bind.bind_info.length = 8;
  EXPECT_EQ(ibv_bind_mw(qp, mw, &bind), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), EINVAL);
  bind.bind_info.length = 0;
  EXPECT_EQ(ibv_bind_mw(qp, mw, &bind), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);

  // Type 2 is bound by a work request; its dealloc unbinds it.
  mr = ibv_reg_mr(pd, buffer_, sizeof buffer_, 0);
  ibv_mw* mw2 = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
  ibv_send_wr wr = {};
  ibv_send_wr* bad = nullptr;
  wr.opcode = IBV_WR_BIND_MW;
  wr.bind_mw.mw = mw2;
  wr.bind_mw.bind_info.mr = mr;
  wr.bind_mw.bind_info.length = 8;
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), EINVAL);
  EXPECT_EQ(ibv_dealloc_mw(mw2), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);

  EXPECT_EQ(ibv_dealloc_mw(mw), 0);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(FakeTest, EveryWayToRegisterEndsWithDereg) {
  ibv_pd* pd = ibv_alloc_pd(context_);
  ibv_alloc_dm_attr dm_attr = {};
  dm_attr.length = 64;
  ibv_dm* dm = ibv_alloc_dm(context_, &dm_attr);
  ibv_dmah_init_attr dmah_attr = {};
  ibv_dmah* dmah = ibv_alloc_dmah(context_, &dmah_attr);
  ibv_buf* buf = nullptr;
  void* address = ibv_alloc_buf(pd, 4096, &buf);
  ASSERT_NE(address, nullptr);
  ibv_mr_init_attr ex = {};
  ex.addr = buffer_;
  ex.length = sizeof buffer_;
  ex.dmah = dmah;
  ex.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_DMAH;
  volatile int access = 0;
  std::vector<ibv_mr*> mrs = {
      ibv_reg_mr(pd, buffer_, sizeof buffer_, access),
      ibv_reg_mr_iova(pd, buffer_, sizeof buffer_, 0, 0),
      ibv_reg_mr_iova2(pd, buffer_, sizeof buffer_, 0, 0),
      ibv_reg_dmabuf_mr(pd, 0, 64, 0, 0, 0),
      ibv_reg_dm_mr(pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED),
      ibv_alloc_null_mr(pd),
      ibv_import_mr(pd, 7),
      ibv_reg_mr_ex(pd, &ex),
      ibv_reg_buf_mr(pd, buf, address, 64, 0),
  };
  EXPECT_EQ(ibv_free_dm(dm), EBUSY);
  EXPECT_EQ(ibv_dealloc_dmah(dmah), EBUSY);
  for (ibv_mr* mr : mrs) {
    ASSERT_NE(mr, nullptr);
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
  }
  EXPECT_EQ(ibv_free_dm(dm), 0);
  EXPECT_EQ(ibv_dealloc_dmah(dmah), 0);
  const int fd = ibv_export_buf_dmabuf_fd(buf);
  EXPECT_EQ(close(fd), 0);
  ibv_free_buf(buf);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(FakeTest, RegisteringIsSeenTwiceAsInTheRealLibrary) {
  ibv_pd* pd = ibv_alloc_pd(context_);
  const uint64_t before = fake_calls("ibv_reg_mr_iova2");
  ibv_mr* mr = ibv_reg_mr(pd, buffer_, sizeof buffer_, 0);
  EXPECT_EQ(fake_calls("ibv_reg_mr_iova2"), before + 1);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(FakeTest, ImportedObjectsEndEitherWay) {
  ibv_pd* one = ibv_import_pd(context_, 9);
  ibv_pd* two = ibv_import_pd(context_, 9);
  ibv_mr* mr = ibv_import_mr(one, 3);
  ibv_dm* dm = ibv_import_dm(context_, 4);
  ibv_unimport_mr(mr);
  ibv_unimport_pd(one);
  EXPECT_EQ(ibv_dealloc_pd(two), 0);
  ibv_unimport_dm(dm);
}

TEST_F(FakeTest, ReregMovesTheMrToAnotherPd) {
  ibv_pd* from = ibv_alloc_pd(context_);
  ibv_pd* to = ibv_alloc_pd(context_);
  ibv_mr* mr = ibv_reg_mr(from, buffer_, sizeof buffer_, 0);
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, to, nullptr, 0, 0), 0);
  EXPECT_EQ(mr->pd, to);
  EXPECT_EQ(ibv_dealloc_pd(from), 0);
  EXPECT_EQ(ibv_dealloc_pd(to), EBUSY);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  mr = ibv_alloc_null_mr(to);
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_dealloc_pd(to), 0);
}

TEST_F(FakeTest, XrcdIsBusyWhileItsQueuesLive) {
  ibv_xrcd_init_attr xrcd_attr = {};
  ibv_xrcd* xrcd = ibv_open_xrcd(context_, &xrcd_attr);
  ibv_pd* pd = ibv_alloc_pd(context_);
  ibv_cq* cq = NewCq();
  ibv_srq_init_attr_ex srq_attr = {};
  srq_attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  srq_attr.srq_type = IBV_SRQT_XRC;
  srq_attr.pd = pd;
  srq_attr.xrcd = xrcd;
  srq_attr.cq = cq;
  ibv_srq* srq = ibv_create_srq_ex(context_, &srq_attr);
  ASSERT_NE(srq, nullptr);
  EXPECT_EQ(ibv_close_xrcd(xrcd), EBUSY);
  EXPECT_EQ(ibv_destroy_cq(cq), EBUSY);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);

  ibv_qp_init_attr_ex qp_attr = {};
  qp_attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  qp_attr.qp_type = IBV_QPT_XRC_RECV;
  qp_attr.xrcd = xrcd;
  ibv_qp* target = ibv_create_qp_ex(context_, &qp_attr);
  ibv_qp_open_attr open_attr = {};
  open_attr.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  open_attr.qp_num = target->qp_num;
  open_attr.xrcd = xrcd;
  open_attr.qp_type = IBV_QPT_XRC_RECV;
  ibv_qp* again = ibv_open_qp(context_, &open_attr);
  EXPECT_EQ(again->qp_num, target->qp_num);
  EXPECT_EQ(ibv_destroy_qp(target), 0);
  EXPECT_EQ(ibv_close_xrcd(xrcd), EBUSY);
  EXPECT_EQ(ibv_destroy_qp(again), 0);
  EXPECT_EQ(ibv_close_xrcd(xrcd), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(FakeTest, WorkQueueTableAndRssQpHoldEachOther) {
  ibv_pd* pd = ibv_alloc_pd(context_);
  ibv_cq* cq = NewCq();
  ibv_wq_init_attr wq_attr = {};
  wq_attr.pd = pd;
  wq_attr.cq = cq;
  ibv_wq* wq[2] = {ibv_create_wq(context_, &wq_attr), ibv_create_wq(context_, &wq_attr)};
  ibv_rwq_ind_table_init_attr table_attr = {};
  table_attr.log_ind_tbl_size = 1;
  table_attr.ind_tbl = wq;
  ibv_rwq_ind_table* table = ibv_create_rwq_ind_table(context_, &table_attr);
  ibv_qp_init_attr_ex qp_attr = {};
  qp_attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE;
  qp_attr.pd = pd;
  qp_attr.rwq_ind_tbl = table;
  qp_attr.qp_type = IBV_QPT_RAW_PACKET;
  ibv_qp* qp = ibv_create_qp_ex(context_, &qp_attr);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(ibv_destroy_cq(cq), EBUSY);
  EXPECT_EQ(ibv_destroy_wq(wq[1]), EBUSY);
  EXPECT_EQ(ibv_destroy_rwq_ind_table(table), EBUSY);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_rwq_ind_table(table), 0);
  EXPECT_EQ(ibv_destroy_wq(wq[0]), 0);
  EXPECT_EQ(ibv_destroy_wq(wq[1]), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(FakeTest, FlowHoldsItsQpActionAndCounters) {
  ibv_pd* pd = ibv_alloc_pd(context_);
  ibv_cq* cq = NewCq();
  ibv_qp* qp = NewQp(pd, cq);
  ibv_flow_action_esp_attr esp = {};
  ibv_flow_action* action = ibv_create_flow_action_esp(context_, &esp);
  ibv_counters_init_attr counters_attr = {};
  ibv_counters* counters = ibv_create_counters(context_, &counters_attr);
  struct __attribute__((packed, aligned(8))) {
    ibv_flow_attr attr;
    ibv_flow_spec_action_handle handle;
    ibv_flow_spec_counter_action count;
  } rule = {};
  rule.attr.num_of_specs = 2;
  rule.handle.type = IBV_FLOW_SPEC_ACTION_HANDLE;
  rule.handle.size = sizeof rule.handle;
  rule.handle.action = action;
  rule.count.type = IBV_FLOW_SPEC_ACTION_COUNT;
  rule.count.size = sizeof rule.count;
  rule.count.counters = counters;
  ibv_counter_attach_attr attach = {};
  EXPECT_EQ(ibv_attach_counters_point_flow(counters, &attach, nullptr), 0);
  auto* rule_attr = reinterpret_cast<ibv_flow_attr*>(&rule);
  ibv_flow* flow = ibv_create_flow(qp, rule_attr);
  ASSERT_NE(flow, nullptr);
  EXPECT_EQ(ibv_attach_counters_point_flow(counters, &attach, nullptr), EBUSY);
  EXPECT_EQ(ibv_destroy_qp(qp), EBUSY);
  EXPECT_EQ(ibv_destroy_flow_action(action), EBUSY);
  EXPECT_EQ(ibv_destroy_counters(counters), EBUSY);
  EXPECT_EQ(ibv_destroy_flow(flow), 0);
  EXPECT_EQ(ibv_destroy_flow_action(action), 0);
  EXPECT_EQ(ibv_destroy_counters(counters), 0);

  // The slots of programs built long ago.
  verbs_context* slots = verbs_get_ctx(context_);
  rule.attr.num_of_specs = 0;
  flow = reinterpret_cast<ibv_flow* (*)(ibv_qp*, ibv_flow_attr*)>(slots->ABI_placeholder1)(qp, rule_attr);
  EXPECT_EQ(reinterpret_cast<int (*)(ibv_flow*)>(slots->ABI_placeholder2)(flow), 0);
  EXPECT_EQ(fake_calls("ABI_placeholder1"), 1u);

  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(FakeTest, CompletionCounterIsFreedByItsQp) {
  ibv_pd* pd = ibv_alloc_pd(context_);
  ibv_cq* cq = NewCq();
  ibv_qp* qp = NewQp(pd, cq);
  ibv_comp_cntr_init_attr attr = {};
  ibv_comp_cntr* counter = ibv_create_comp_cntr(context_, &attr);
  ibv_qp_attach_comp_cntr_attr attach = {};
  EXPECT_EQ(ibv_qp_attach_comp_cntr(qp, counter, &attach), 0);
  uint64_t value = 0;
  EXPECT_EQ(ibv_inc_comp_cntr(counter, 5), 0);
  EXPECT_EQ(ibv_read_comp_cntr(counter, &value), 0);
  EXPECT_EQ(value, 5u);
  EXPECT_EQ(ibv_destroy_comp_cntr(counter), EBUSY);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_comp_cntr(counter), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(FakeTest, ExtendedCqIsDestroyedAsACq) {
  ibv_cq_init_attr_ex attr = {};
  attr.cqe = 4;
  ibv_cq_ex* cq = ibv_create_cq_ex(context_, &attr);
  ASSERT_NE(cq, nullptr);
  ibv_poll_cq_attr poll = {};
  EXPECT_EQ(ibv_start_poll(cq, &poll), ENOENT);
  ibv_wc wc;
  EXPECT_EQ(ibv_poll_cq(ibv_cq_ex_to_cq(cq), 1, &wc), 0);
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

TEST_F(FakeTest, QueriesAnswerPlausibly) {
  ibv_device_attr device = {};
  EXPECT_EQ(ibv_query_device(context_, &device), 0);
  EXPECT_EQ(device.phys_port_cnt, 1);
  ibv_port_attr port = {};
  EXPECT_EQ(ibv_query_port(context_, 1, &port), 0);
  EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(ibv_query_port(context_, 2, &port), EINVAL);
  ibv_gid gid = {};
  EXPECT_EQ(ibv_query_gid(context_, 1, 0, &gid), 0);
  EXPECT_STREQ(ibv_wc_status_str(IBV_WC_SUCCESS), "success");
  EXPECT_EQ(ibv_rate_to_mult(mult_to_ibv_rate(4)), 4);
  EXPECT_EQ(ibv_rate_to_mbps(mbps_to_ibv_rate(103125)), 103125);
}

}  // namespace
