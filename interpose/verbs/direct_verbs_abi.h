// The providers' direct verbs, declared here rather than included: one binary must know the entry points of every
// rdma-core, and most of their types are opaque to us anyway. tests/unit/direct_verbs_abi_test.cc compares these lines
// with the installed headers.
#pragma once

#include "interpose/verbs/verbs_abi.h"

extern "C" {
struct mlx5dv_context_attr;
struct mlx5dv_vfio_context_attr;
struct mlx5dv_cq_init_attr;
struct mlx5dv_qp_init_attr;
struct mlx5dv_wq_init_attr;
struct mlx5dv_alloc_dm_attr;
struct mlx5dv_flow_matcher;
struct mlx5dv_flow_matcher_attr;
struct mlx5dv_flow_match_parameters;
struct mlx5dv_flow_action_attr;
struct mlx5dv_flow_action_esp;
struct mlx5dv_mkey;
struct mlx5dv_mkey_init_attr;
struct mlx5dv_steering_anchor;
struct mlx5dv_steering_anchor_attr;
struct mlx5dv_devx_obj;
struct mlx5dv_devx_umem;
struct mlx5dv_devx_umem_in;
struct mlx5dv_devx_uar;
struct mlx5dv_var;
struct mlx5dv_pp;
struct mlx5dv_devx_cmd_comp;
struct mlx5dv_devx_event_channel;
struct mlx5dv_devx_msi_vector;
struct mlx5dv_devx_eq;
struct mlx5dv_sched_node;
struct mlx5dv_sched_leaf;
struct mlx5dv_sched_attr;
struct mlx5dv_dek;
struct mlx5dv_dek_init_attr;
struct mlx5dv_crypto_login_attr;
struct mlx5dv_crypto_login_attr_ex;
struct mlx5dv_crypto_login_obj;
struct mlx5dv_dr_domain;
struct mlx5dv_dr_table;
struct mlx5dv_dr_matcher;
struct mlx5dv_dr_matcher_layout;
struct mlx5dv_dr_rule;
struct mlx5dv_dr_action;
struct mlx5dv_dr_action_dest_attr;
struct mlx5dv_dr_flow_meter_attr;
struct mlx5dv_dr_flow_sampler_attr;
struct mlx4dv_qp_init_attr;
struct efadv_qp_init_attr;
struct efadv_cq_init_attr;
struct efadv_comp_cntr_init_attr;
struct hnsdv_qp_init_attr;

struct ibv_context* mlx5dv_open_device(struct ibv_device*, struct mlx5dv_context_attr*);
struct ibv_device** mlx5dv_get_vfio_device_list(struct mlx5dv_vfio_context_attr*);
struct ibv_cq_ex* mlx5dv_create_cq(struct ibv_context*, struct ibv_cq_init_attr_ex*, struct mlx5dv_cq_init_attr*);
struct ibv_qp* mlx5dv_create_qp(struct ibv_context*, struct ibv_qp_init_attr_ex*, struct mlx5dv_qp_init_attr*);
struct ibv_wq* mlx5dv_create_wq(struct ibv_context*, struct ibv_wq_init_attr*, struct mlx5dv_wq_init_attr*);
struct ibv_dm* mlx5dv_alloc_dm(struct ibv_context*, struct ibv_alloc_dm_attr*, struct mlx5dv_alloc_dm_attr*);
struct ibv_mr* mlx5dv_reg_dmabuf_mr(struct ibv_pd*, uint64_t offset, size_t length, uint64_t iova, int fd, int access,
                                    int mlx5_access);
struct ibv_flow* mlx5dv_create_flow(struct mlx5dv_flow_matcher*, struct mlx5dv_flow_match_parameters*, size_t,
                                    struct mlx5dv_flow_action_attr*);
struct ibv_flow* __mlx5dv_create_flow(struct mlx5dv_flow_matcher*, struct mlx5dv_flow_match_parameters*, size_t,
                                      struct mlx5dv_flow_action_attr*, size_t action_size);
struct ibv_flow_action* mlx5dv_create_flow_action_esp(struct ibv_context*, struct ibv_flow_action_esp_attr*,
                                                      struct mlx5dv_flow_action_esp*);
struct ibv_flow_action* mlx5dv_create_flow_action_modify_header(struct ibv_context*, size_t, uint64_t*, int type);
struct ibv_flow_action* mlx5dv_create_flow_action_packet_reformat(struct ibv_context*, size_t, void*, int type,
                                                                  int table_type);
struct mlx5dv_flow_matcher* mlx5dv_create_flow_matcher(struct ibv_context*, struct mlx5dv_flow_matcher_attr*);
int mlx5dv_destroy_flow_matcher(struct mlx5dv_flow_matcher*);
struct mlx5dv_mkey* mlx5dv_create_mkey(struct mlx5dv_mkey_init_attr*);
int mlx5dv_destroy_mkey(struct mlx5dv_mkey*);
struct mlx5dv_steering_anchor* mlx5dv_create_steering_anchor(struct ibv_context*, struct mlx5dv_steering_anchor_attr*);
int mlx5dv_destroy_steering_anchor(struct mlx5dv_steering_anchor*);
struct mlx5dv_devx_obj* mlx5dv_devx_obj_create(struct ibv_context*, const void* in, size_t, void* out, size_t);
int mlx5dv_devx_obj_destroy(struct mlx5dv_devx_obj*);
struct mlx5dv_devx_obj* mlx5dv_devx_obj_import(struct ibv_context*, void* data);
void mlx5dv_devx_obj_unimport(struct mlx5dv_devx_obj*);
struct mlx5dv_devx_umem* mlx5dv_devx_umem_reg(struct ibv_context*, void* addr, size_t, uint32_t access);
struct mlx5dv_devx_umem* mlx5dv_devx_umem_reg_ex(struct ibv_context*, struct mlx5dv_devx_umem_in*);
int mlx5dv_devx_umem_dereg(struct mlx5dv_devx_umem*);
struct mlx5dv_devx_umem* mlx5dv_devx_umem_import(struct ibv_context*, void* data);
void mlx5dv_devx_umem_unimport(struct mlx5dv_devx_umem*);
struct mlx5dv_devx_uar* mlx5dv_devx_alloc_uar(struct ibv_context*, uint32_t flags);
void mlx5dv_devx_free_uar(struct mlx5dv_devx_uar*);
int mlx5dv_devx_uar_export_dmabuf_fd(struct mlx5dv_devx_uar*);
struct mlx5dv_var* mlx5dv_alloc_var(struct ibv_context*, uint32_t flags);
void mlx5dv_free_var(struct mlx5dv_var*);
struct mlx5dv_var* mlx5dv_var_import(struct ibv_context*, void* data);
void mlx5dv_var_unimport(struct mlx5dv_var*);
struct mlx5dv_pp* mlx5dv_pp_alloc(struct ibv_context*, size_t, const void*, uint32_t flags);
void mlx5dv_pp_free(struct mlx5dv_pp*);
struct mlx5dv_devx_cmd_comp* mlx5dv_devx_create_cmd_comp(struct ibv_context*);
void mlx5dv_devx_destroy_cmd_comp(struct mlx5dv_devx_cmd_comp*);
struct mlx5dv_devx_event_channel* mlx5dv_devx_create_event_channel(struct ibv_context*, int flags);
void mlx5dv_devx_destroy_event_channel(struct mlx5dv_devx_event_channel*);
struct mlx5dv_devx_msi_vector* mlx5dv_devx_alloc_msi_vector(struct ibv_context*);
int mlx5dv_devx_free_msi_vector(struct mlx5dv_devx_msi_vector*);
struct mlx5dv_devx_eq* mlx5dv_devx_create_eq(struct ibv_context*, const void* in, size_t, void* out, size_t);
int mlx5dv_devx_destroy_eq(struct mlx5dv_devx_eq*);
struct mlx5dv_sched_node* mlx5dv_sched_node_create(struct ibv_context*, const struct mlx5dv_sched_attr*);
int mlx5dv_sched_node_destroy(struct mlx5dv_sched_node*);
struct mlx5dv_sched_leaf* mlx5dv_sched_leaf_create(struct ibv_context*, const struct mlx5dv_sched_attr*);
int mlx5dv_sched_leaf_destroy(struct mlx5dv_sched_leaf*);
int mlx5dv_reserved_qpn_alloc(struct ibv_context*, uint32_t* qpn);
int mlx5dv_reserved_qpn_dealloc(struct ibv_context*, uint32_t qpn);
struct mlx5dv_dek* mlx5dv_dek_create(struct ibv_context*, struct mlx5dv_dek_init_attr*);
int mlx5dv_dek_destroy(struct mlx5dv_dek*);
int mlx5dv_crypto_login(struct ibv_context*, struct mlx5dv_crypto_login_attr*);
int mlx5dv_crypto_logout(struct ibv_context*);
struct mlx5dv_crypto_login_obj* mlx5dv_crypto_login_create(struct ibv_context*, struct mlx5dv_crypto_login_attr_ex*);
int mlx5dv_crypto_login_destroy(struct mlx5dv_crypto_login_obj*);
int mlx5dv_map_ah_to_qp(struct ibv_ah*, uint32_t qp_num);
struct mlx5dv_dr_domain* mlx5dv_dr_domain_create(struct ibv_context*, int type);
int mlx5dv_dr_domain_destroy(struct mlx5dv_dr_domain*);
struct mlx5dv_dr_table* mlx5dv_dr_table_create(struct mlx5dv_dr_domain*, uint32_t level);
int mlx5dv_dr_table_destroy(struct mlx5dv_dr_table*);
struct mlx5dv_dr_matcher* mlx5dv_dr_matcher_create(struct mlx5dv_dr_table*, uint16_t priority, uint8_t criteria,
                                                   struct mlx5dv_flow_match_parameters*);
int mlx5dv_dr_matcher_destroy(struct mlx5dv_dr_matcher*);
struct mlx5dv_dr_rule* mlx5dv_dr_rule_create(struct mlx5dv_dr_matcher*, struct mlx5dv_flow_match_parameters*, size_t,
                                             struct mlx5dv_dr_action* actions[]);
int mlx5dv_dr_rule_destroy(struct mlx5dv_dr_rule*);
struct mlx5dv_dr_action* mlx5dv_dr_action_create_aso(struct mlx5dv_dr_domain*, struct mlx5dv_devx_obj*, uint32_t offset,
                                                     uint32_t flags, uint8_t return_reg_c);
struct mlx5dv_dr_action* mlx5dv_dr_action_create_default_miss(void);
struct mlx5dv_dr_action* mlx5dv_dr_action_create_dest_array(struct mlx5dv_dr_domain*, size_t,
                                                            struct mlx5dv_dr_action_dest_attr* dests[]);
struct mlx5dv_dr_action* mlx5dv_dr_action_create_dest_devx_tir(struct mlx5dv_devx_obj*);
struct mlx5dv_dr_action* mlx5dv_dr_action_create_dest_ib_port(struct mlx5dv_dr_domain*, uint32_t port);
struct mlx5dv_dr_action* mlx5dv_dr_action_create_dest_ibv_qp(struct ibv_qp*);
struct mlx5dv_dr_action* mlx5dv_dr_action_create_dest_root_table(struct mlx5dv_dr_table*, uint16_t priority);
struct mlx5dv_dr_action* mlx5dv_dr_action_create_dest_table(struct mlx5dv_dr_table*);
struct mlx5dv_dr_action* mlx5dv_dr_action_create_dest_vport(struct mlx5dv_dr_domain*, uint32_t vport);
struct mlx5dv_dr_action* mlx5dv_dr_action_create_drop(void);
struct mlx5dv_dr_action* mlx5dv_dr_action_create_flow_counter(struct mlx5dv_devx_obj*, uint32_t offset);
struct mlx5dv_dr_action* mlx5dv_dr_action_create_flow_meter(struct mlx5dv_dr_flow_meter_attr*);
struct mlx5dv_dr_action* mlx5dv_dr_action_create_flow_sampler(struct mlx5dv_dr_flow_sampler_attr*);
struct mlx5dv_dr_action* mlx5dv_dr_action_create_modify_header(struct mlx5dv_dr_domain*, uint32_t flags, size_t,
                                                               uint64_t actions[]);
struct mlx5dv_dr_action* mlx5dv_dr_action_create_packet_reformat(struct mlx5dv_dr_domain*, uint32_t flags, int type,
                                                                 size_t, void*);
struct mlx5dv_dr_action* mlx5dv_dr_action_create_pop_vlan(void);
struct mlx5dv_dr_action* mlx5dv_dr_action_create_push_vlan(struct mlx5dv_dr_domain*, uint32_t vlan_hdr);
struct mlx5dv_dr_action* mlx5dv_dr_action_create_tag(uint32_t tag);
int mlx5dv_dr_action_destroy(struct mlx5dv_dr_action*);
struct ibv_qp* mlx4dv_create_qp(struct ibv_context*, struct ibv_qp_init_attr_ex*, struct mlx4dv_qp_init_attr*);
struct ibv_qp* efadv_create_driver_qp(struct ibv_pd*, struct ibv_qp_init_attr*, uint32_t driver_qp_type);
struct ibv_qp* efadv_create_qp_ex(struct ibv_context*, struct ibv_qp_init_attr_ex*, struct efadv_qp_init_attr*,
                                  uint32_t inlen);
struct ibv_cq_ex* efadv_create_cq(struct ibv_context*, struct ibv_cq_init_attr_ex*, struct efadv_cq_init_attr*,
                                  uint32_t inlen);
struct ibv_comp_cntr* efadv_create_comp_cntr(struct ibv_context*, struct ibv_comp_cntr_init_attr*,
                                             struct efadv_comp_cntr_init_attr*, uint32_t inlen);
struct ibv_qp* hnsdv_create_qp(struct ibv_context*, struct ibv_qp_init_attr_ex*, struct hnsdv_qp_init_attr*);
}
