// Verbs younger than the libibverbs-dev that compiles us (rdma-core 44): declared here, with the public layouts, so
// that the fake libibverbs can define them and tests can call them. The build looks what the installed header already has.
#pragma once

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef FAKE_HEADER_HAS_DMAH  // rdma-core 59
struct ibv_dmah {
  struct ibv_context* context;
};
struct ibv_dmah_init_attr {
  uint32_t comp_mask;
  uint32_t cpu_id;
  uint8_t ph;
  uint8_t tph_mem_type;
};
enum ibv_mr_init_attr_mask {
  IBV_REG_MR_MASK_IOVA = 1 << 0,
  IBV_REG_MR_MASK_ADDR = 1 << 1,
  IBV_REG_MR_MASK_FD = 1 << 2,
  IBV_REG_MR_MASK_FD_OFFSET = 1 << 3,
  IBV_REG_MR_MASK_DMAH = 1 << 4,
#ifndef FAKE_HEADER_HAS_BUF
  IBV_REG_MR_MASK_BUF = 1 << 5,
#endif
};
struct ibv_buf;
struct ibv_mr_init_attr {
  size_t length;
  int access;
  uint64_t comp_mask;
  uint64_t iova;
  void* addr;
  int fd;
  uint64_t fd_offset;
  struct ibv_dmah* dmah;
  struct ibv_buf* buf;  // rdma-core 64
};
struct ibv_dmah* ibv_alloc_dmah(struct ibv_context* context, struct ibv_dmah_init_attr* attr);
int ibv_dealloc_dmah(struct ibv_dmah* dmah);
struct ibv_mr* ibv_reg_mr_ex(struct ibv_pd* pd, struct ibv_mr_init_attr* attr);
#endif

#ifndef FAKE_HEADER_HAS_DM_EXPORT  // rdma-core 62
int ibv_dm_export_dmabuf_fd(struct ibv_dm* dm);
int ibv_query_port_speed(struct ibv_context* context, uint32_t port_num, uint64_t* port_speed);
#endif

#ifndef FAKE_HEADER_HAS_BUF  // rdma-core 64
struct ibv_buf;
void* ibv_alloc_buf(struct ibv_pd* pd, size_t size, struct ibv_buf** buf);
void ibv_free_buf(struct ibv_buf* buf);
struct ibv_mr* ibv_reg_buf_mr(struct ibv_pd* pd, struct ibv_buf* buf, void* addr, size_t length, int access);
#endif

#ifndef FAKE_HEADER_HAS_COMP_CNTR  // rdma-core 65
struct ibv_comp_cntr {
  struct ibv_context* context;
  uint32_t handle;
};
struct ibv_comp_cntr_caps {
  uint64_t max_value;
  uint32_t max_counters;
  uint32_t supported_qp_attach_ops;
};
enum ibv_comp_cntr_type { IBV_COMP_CNTR_TYPE_WRS, IBV_COMP_CNTR_TYPE_BYTES };
struct ibv_comp_cntr_init_attr {
  uint32_t comp_mask;
  enum ibv_comp_cntr_type type;
  uint32_t flags;
};
struct ibv_qp_attach_comp_cntr_attr {
  uint32_t comp_mask;
  uint32_t op_mask;
};
int ibv_export_buf_dmabuf_fd(struct ibv_buf* buf);
struct ibv_comp_cntr* ibv_create_comp_cntr(struct ibv_context* context, struct ibv_comp_cntr_init_attr* attr);
int ibv_destroy_comp_cntr(struct ibv_comp_cntr* counter);
int ibv_set_comp_cntr(struct ibv_comp_cntr* counter, uint64_t value);
int ibv_set_err_comp_cntr(struct ibv_comp_cntr* counter, uint64_t value);
int ibv_inc_comp_cntr(struct ibv_comp_cntr* counter, uint64_t amount);
int ibv_inc_err_comp_cntr(struct ibv_comp_cntr* counter, uint64_t amount);
int ibv_read_comp_cntr(struct ibv_comp_cntr* counter, uint64_t* value);
int ibv_read_err_comp_cntr(struct ibv_comp_cntr* counter, uint64_t* value);
int ibv_qp_attach_comp_cntr(struct ibv_qp* qp, struct ibv_comp_cntr* counter,
                            struct ibv_qp_attach_comp_cntr_attr* attr);
int _ibv_query_comp_cntr_caps(struct ibv_context* context, struct ibv_comp_cntr_caps* caps, size_t caps_size);
#endif

#ifdef __cplusplus
}
#endif
