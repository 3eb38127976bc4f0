// The one door for <infiniband/verbs.h>. It turns some verbs into macros, which a hook of the same name must not see,
// and the installed header may be older than the libibverbs of the machine the checker runs on: what later releases
// added up to IBVERBS_1.18 is declared here, in the same words, so that one binary serves them all.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>

#undef ibv_get_device_list
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_query_port

extern "C" {
struct ibv_mr_init_attr;
struct ibv_dmah;
struct ibv_dmah_init_attr;
struct ibv_buf;
struct ibv_comp_cntr;
struct ibv_comp_cntr_init_attr;
struct ibv_qp_attach_comp_cntr_attr;
struct ibv_mr* ibv_reg_dmabuf_mr(struct ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access);
struct ibv_dm* ibv_import_dm(struct ibv_context* context, uint32_t dm_handle);
void ibv_unimport_dm(struct ibv_dm* dm);
struct ibv_mr* ibv_reg_mr_ex(struct ibv_pd* pd, struct ibv_mr_init_attr* attr);
struct ibv_mr* ibv_reg_buf_mr(struct ibv_pd* pd, struct ibv_buf* buf, void* addr, size_t length, int access);
int ibv_dm_export_dmabuf_fd(struct ibv_dm* dm);
void* ibv_alloc_buf(struct ibv_pd* pd, size_t size, struct ibv_buf** buf);
void ibv_free_buf(struct ibv_buf* buf);
int ibv_export_buf_dmabuf_fd(struct ibv_buf* buf);
struct ibv_dmah* ibv_alloc_dmah(struct ibv_context* context, struct ibv_dmah_init_attr* attr);
int ibv_dealloc_dmah(struct ibv_dmah* dmah);
struct ibv_comp_cntr* ibv_create_comp_cntr(struct ibv_context* context, struct ibv_comp_cntr_init_attr* attr);
int ibv_destroy_comp_cntr(struct ibv_comp_cntr* comp_cntr);
int ibv_qp_attach_comp_cntr(struct ibv_qp* qp, struct ibv_comp_cntr* comp_cntr,
                            struct ibv_qp_attach_comp_cntr_attr* attr);
}

namespace rdmacheck::abi {

// The layout of ibv_mr_init_attr (IBVERBS_1.15; buf since 1.17) as far as we read it.
struct MrInitAttr {
  size_t length;
  int access;
  uint64_t comp_mask;
  uint64_t iova;
  void* addr;
  int fd;
  uint64_t fd_offset;
  ibv_dmah* dmah;
  ibv_buf* buf;
};
inline constexpr uint64_t kMrMaskDmah = 1 << 4;
inline constexpr uint64_t kMrMaskBuf = 1 << 5;

// ibv_dm of the releases that have ibv_import_dm (IBVERBS_1.13). Before them the handle's place is padding, which
// providers leave at 0.
struct Dm {
  ibv_context* context;
  void* copiers[2];
  uint32_t comp_mask;
  uint32_t handle;
};
static_assert(sizeof(Dm) == sizeof(ibv_dm) && offsetof(Dm, comp_mask) == offsetof(ibv_dm, comp_mask));

}  // namespace rdmacheck::abi
