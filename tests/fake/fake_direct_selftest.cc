// The direct verbs of the fake libibverbs: pairs of their own, generic objects made another way, and what direct rules do
// through libibverbs on the way.
#include <infiniband/efadv.h>
#include <infiniband/mlx4dv.h>
#include <infiniband/mlx5dv.h>

#include <thread>

#include "fake_selftest.h"

// Not in the header of rdma-core 44.
struct hnsdv_qp_init_attr;
struct efadv_comp_cntr_init_attr;
extern "C" ibv_qp* hnsdv_create_qp(ibv_context*, ibv_qp_init_attr_ex*, hnsdv_qp_init_attr*);
extern "C" ibv_comp_cntr* efadv_create_comp_cntr(ibv_context*, ibv_comp_cntr_init_attr*, efadv_comp_cntr_init_attr*,
                                                 uint32_t);
extern "C" mlx5dv_devx_obj* mlx5dv_devx_obj_import(ibv_context*, void*);
extern "C" void mlx5dv_devx_obj_unimport(mlx5dv_devx_obj*);

namespace {

TEST_F(FakeTest, DirectOpenPassesByIbvOpenDevice) {
  ibv_device** list = ibv_get_device_list(nullptr);
  const uint64_t before = fake_calls("ibv_open_device");
  ibv_context* context = mlx5dv_open_device(list[0], nullptr);
  ASSERT_NE(context, nullptr);
  EXPECT_EQ(fake_calls("ibv_open_device"), before);
  EXPECT_EQ(ibv_close_device(context), 0);
  ibv_free_device_list(list);
  list = mlx5dv_get_vfio_device_list(nullptr);
  ASSERT_NE(list, nullptr);
  ibv_free_device_list(list);
}

TEST_F(FakeTest, GenericVerbsReleaseWhatDirectVerbsMade) {
  ibv_pd* pd = ibv_alloc_pd(context_);
  ibv_cq_init_attr_ex cq_attr = {};
  cq_attr.cqe = 4;
  ibv_cq* cq = ibv_cq_ex_to_cq(mlx5dv_create_cq(context_, &cq_attr, nullptr));
  ibv_cq* efa_cq = ibv_cq_ex_to_cq(efadv_create_cq(context_, &cq_attr, nullptr, 0));
  ibv_qp_init_attr_ex qp_attr = {};
  qp_attr.comp_mask = IBV_QP_INIT_ATTR_PD;
  qp_attr.pd = pd;
  qp_attr.send_cq = qp_attr.recv_cq = cq;
  ibv_qp_init_attr driver_attr = {};
  driver_attr.send_cq = driver_attr.recv_cq = efa_cq;
  ibv_qp* qps[] = {
      mlx5dv_create_qp(context_, &qp_attr, nullptr),      mlx4dv_create_qp(context_, &qp_attr, nullptr),
      efadv_create_qp_ex(context_, &qp_attr, nullptr, 0), efadv_create_driver_qp(pd, &driver_attr, 0),
      hnsdv_create_qp(context_, &qp_attr, nullptr),
  };
  EXPECT_EQ(ibv_destroy_cq(cq), EBUSY);
  EXPECT_EQ(ibv_destroy_cq(efa_cq), EBUSY);
  for (ibv_qp* qp : qps) EXPECT_EQ(ibv_destroy_qp(qp), 0);

  ibv_wq_init_attr wq_attr = {};
  wq_attr.pd = pd;
  wq_attr.cq = cq;
  EXPECT_EQ(ibv_destroy_wq(mlx5dv_create_wq(context_, &wq_attr, nullptr)), 0);
  ibv_alloc_dm_attr dm_attr = {};
  dm_attr.length = 8;
  EXPECT_EQ(ibv_free_dm(mlx5dv_alloc_dm(context_, &dm_attr, nullptr)), 0);
  EXPECT_EQ(ibv_destroy_comp_cntr(efadv_create_comp_cntr(context_, nullptr, nullptr, 0)), 0);
  EXPECT_EQ(ibv_destroy_flow_action(mlx5dv_create_flow_action_esp(context_, nullptr, nullptr)), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_destroy_cq(efa_cq), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(FakeTest, FlowHoldsItsMatcherAndDestination) {
  ibv_pd* pd = ibv_alloc_pd(context_);
  ibv_cq* cq = NewCq();
  ibv_qp* qp = NewQp(pd, cq);
  mlx5dv_flow_matcher_attr attr = {};
  mlx5dv_flow_matcher* matcher = mlx5dv_create_flow_matcher(context_, &attr);
  mlx5dv_flow_action_attr action = {};
  action.type = MLX5DV_FLOW_ACTION_DEST_IBV_QP;
  action.qp = qp;
  ibv_flow* flow = mlx5dv_create_flow(matcher, nullptr, 1, &action);
  ASSERT_NE(flow, nullptr);
  EXPECT_EQ(mlx5dv_destroy_flow_matcher(matcher), EBUSY);
  EXPECT_EQ(ibv_destroy_qp(qp), EBUSY);
  EXPECT_EQ(ibv_destroy_flow(flow), 0);
  EXPECT_EQ(mlx5dv_destroy_flow_matcher(matcher), 0);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(FakeTest, PairsOfMlx5ComeAndGo) {
  ibv_pd* pd = ibv_alloc_pd(context_);
  char out[16];
  mlx5dv_mkey_init_attr mkey_attr = {};
  mkey_attr.pd = pd;
  mlx5dv_mkey* mkey = mlx5dv_create_mkey(&mkey_attr);
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
  EXPECT_EQ(mlx5dv_destroy_mkey(mkey), 0);
  mlx5dv_dek_init_attr dek_attr = {};
  dek_attr.pd = pd;
  EXPECT_EQ(mlx5dv_dek_destroy(mlx5dv_dek_create(context_, &dek_attr)), 0);
  EXPECT_EQ(mlx5dv_destroy_steering_anchor(mlx5dv_create_steering_anchor(context_, nullptr)), 0);
  EXPECT_EQ(mlx5dv_devx_obj_destroy(mlx5dv_devx_obj_create(context_, nullptr, 0, out, sizeof out)), 0);
  mlx5dv_devx_obj_unimport(mlx5dv_devx_obj_import(context_, nullptr));
  EXPECT_EQ(mlx5dv_devx_umem_dereg(mlx5dv_devx_umem_reg(context_, buffer_, 64, 0)), 0);
  EXPECT_EQ(mlx5dv_devx_umem_dereg(mlx5dv_devx_umem_reg_ex(context_, nullptr)), 0);
  mlx5dv_devx_free_uar(mlx5dv_devx_alloc_uar(context_, 0));
  mlx5dv_free_var(mlx5dv_alloc_var(context_, 0));
  mlx5dv_pp_free(mlx5dv_pp_alloc(context_, 0, nullptr, 0));
  mlx5dv_devx_destroy_cmd_comp(mlx5dv_devx_create_cmd_comp(context_));
  mlx5dv_devx_destroy_event_channel(
      mlx5dv_devx_create_event_channel(context_, MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA));
  EXPECT_EQ(mlx5dv_devx_free_msi_vector(mlx5dv_devx_alloc_msi_vector(context_)), 0);
  EXPECT_EQ(mlx5dv_devx_destroy_eq(mlx5dv_devx_create_eq(context_, nullptr, 0, out, sizeof out)), 0);
  EXPECT_EQ(mlx5dv_crypto_login_destroy(mlx5dv_crypto_login_create(context_, nullptr)), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);

  EXPECT_EQ(mlx5dv_crypto_login(context_, nullptr), 0);
  EXPECT_EQ(mlx5dv_crypto_login(context_, nullptr), EEXIST);
  EXPECT_EQ(mlx5dv_crypto_logout(context_), 0);
  EXPECT_EQ(mlx5dv_crypto_logout(context_), ENOENT);

  uint32_t qpn = 0;
  EXPECT_EQ(mlx5dv_reserved_qpn_alloc(context_, &qpn), 0);
  EXPECT_EQ(mlx5dv_reserved_qpn_dealloc(context_, qpn), 0);
  EXPECT_EQ(mlx5dv_reserved_qpn_dealloc(context_, qpn), EINVAL);
}

TEST_F(FakeTest, SchedulingNodeIsBusyUnderALeaf) {
  mlx5dv_sched_attr attr = {};
  mlx5dv_sched_node* root = mlx5dv_sched_node_create(context_, &attr);
  attr.parent = root;
  mlx5dv_sched_leaf* leaf = mlx5dv_sched_leaf_create(context_, &attr);
  EXPECT_EQ(mlx5dv_sched_node_destroy(root), EBUSY);
  EXPECT_EQ(mlx5dv_sched_leaf_destroy(leaf), 0);
  EXPECT_EQ(mlx5dv_sched_node_destroy(root), 0);
}

TEST_F(FakeTest, LostDeviceFailsDriverMethodsOnAnyKernel) {
  char out[16];
  mlx5dv_devx_obj* object = mlx5dv_devx_obj_create(context_, nullptr, 0, out, sizeof out);
  mlx5dv_flow_matcher* matcher = mlx5dv_create_flow_matcher(context_, nullptr);
  fake_device_fatal(context_);
  EXPECT_EQ(mlx5dv_destroy_flow_matcher(matcher), EIO);
  fake_set("RDMAV_ALLOW_DISASSOC_DESTROY", "1");
  EXPECT_EQ(mlx5dv_destroy_flow_matcher(matcher), 0);  // forgiven
  EXPECT_EQ(mlx5dv_devx_obj_destroy(object), EIO);     // not
  fake_set("RDMAV_ALLOW_DISASSOC_DESTROY", "0");
  mlx5dv_devx_obj_unimport(object);  // asks no device
}

TEST_F(FakeTest, DirectRulesHoldEachOther) {
  mlx5dv_dr_domain* domain = mlx5dv_dr_domain_create(context_, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
  ASSERT_NE(domain, nullptr);
  EXPECT_EQ(fake_calls("ibv_alloc_pd"), 1u);
  EXPECT_EQ(fake_calls("ibv_create_cq"), 1u);
  EXPECT_EQ(fake_calls("ibv_reg_mr"), 2u);
  mlx5dv_dr_table* table = mlx5dv_dr_table_create(domain, 1);
  mlx5dv_dr_matcher* matcher = mlx5dv_dr_matcher_create(table, 0, 0, nullptr);
  mlx5dv_dr_action* drop = mlx5dv_dr_action_create_drop();
  mlx5dv_dr_rule* rule = mlx5dv_dr_rule_create(matcher, nullptr, 1, &drop);
  ASSERT_NE(rule, nullptr);
  EXPECT_EQ(fake_calls("mlx5dv_alloc_dm"), 1u);
  EXPECT_EQ(fake_calls("ibv_reg_dm_mr"), 1u);
  EXPECT_EQ(mlx5dv_dr_domain_destroy(domain), EBUSY);
  EXPECT_EQ(mlx5dv_dr_table_destroy(table), EBUSY);
  EXPECT_EQ(mlx5dv_dr_matcher_destroy(matcher), EBUSY);
  EXPECT_EQ(mlx5dv_dr_action_destroy(drop), EBUSY);
  EXPECT_EQ(mlx5dv_dr_rule_destroy(rule), 0);
  EXPECT_EQ(fake_live("dm"), 0);
  EXPECT_EQ(fake_calls("ibv_free_dm"), 0u);  // freed behind everybody's back
  EXPECT_EQ(mlx5dv_dr_action_destroy(drop), 0);
  EXPECT_EQ(mlx5dv_dr_matcher_destroy(matcher), 0);
  EXPECT_EQ(mlx5dv_dr_table_destroy(table), 0);
  EXPECT_EQ(mlx5dv_dr_domain_destroy(domain), 0);
}

TEST_F(FakeTest, RootRulesAreTheKernelsFlows) {
  mlx5dv_dr_domain* domain = mlx5dv_dr_domain_create(context_, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
  mlx5dv_dr_table* table = mlx5dv_dr_table_create(domain, 0);
  mlx5dv_dr_matcher* matcher = mlx5dv_dr_matcher_create(table, 0, 0, nullptr);
  mlx5dv_dr_action* header =
      mlx5dv_dr_action_create_modify_header(domain, MLX5DV_DR_ACTION_FLAGS_ROOT_LEVEL, 0, nullptr);
  mlx5dv_dr_rule* rule = mlx5dv_dr_rule_create(matcher, nullptr, 1, &header);
  EXPECT_EQ(fake_live("flow"), 1);
  EXPECT_EQ(mlx5dv_dr_rule_destroy(rule), 0);
  EXPECT_EQ(fake_calls("ibv_create_flow"), 0u);
  EXPECT_EQ(fake_calls("ibv_destroy_flow"), 1u);
  EXPECT_EQ(mlx5dv_dr_action_destroy(header), 0);
  EXPECT_EQ(fake_calls("ibv_destroy_flow_action"), 1u);
  EXPECT_EQ(mlx5dv_dr_matcher_destroy(matcher), 0);
  EXPECT_EQ(mlx5dv_dr_table_destroy(table), 0);
  EXPECT_EQ(mlx5dv_dr_domain_destroy(domain), 0);
}

TEST_F(FakeTest, FailedDomainLeavesNothing) {
  fake_fail_next("ibv_create_cq", ENOMEM, 1);
  EXPECT_EQ(mlx5dv_dr_domain_create(context_, MLX5DV_DR_DOMAIN_TYPE_NIC_RX), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(fake_live("pd"), 0);
  EXPECT_EQ(fake_live("dr_domain"), 0);
}

}  // namespace
