// Verbs that came after rdma-core 44: DMA handles, buffers, dma-buf exports, completion counters.
#include <sys/mman.h>
#include <unistd.h>

#include "fake_internal.h"
#include "fake_slots.h"
#include "newer_verbs.h"

#if FAKE_NODE >= 15

namespace fake {
namespace {

#if FAKE_NODE >= 16
// Stands for a dma-buf: a file of its own that the caller closes.
int ExportFd() { return memfd_create("fake-dmabuf", MFD_CLOEXEC); }
#endif

#if FAKE_NODE >= 18
int Change(Verb verb, ibv_comp_cntr* counter, std::atomic<uint64_t> FakeCompCntr::*value, bool add, uint64_t by) {
  Call call(verb);
  if (const int error = call.Error(counter->context)) return error;
  if (!Is(Obj(counter), Kind::comp_cntr)) return EINVAL;
  std::atomic<uint64_t>& place = reinterpret_cast<FakeCompCntr*>(counter)->*value;
  place = add ? place + by : by;
  return 0;
}

int Read(Verb verb, ibv_comp_cntr* counter, std::atomic<uint64_t> FakeCompCntr::*value, uint64_t* out) {
  Call call(verb);
  if (const int error = call.Error(counter->context)) return error;
  if (!Is(Obj(counter), Kind::comp_cntr)) return EINVAL;
  *out = reinterpret_cast<FakeCompCntr*>(counter)->*value;
  return 0;
}
#endif

}  // namespace

#if FAKE_NODE >= 18
ibv_comp_cntr* MakeCompCntr(ibv_context* context) {
  FakeCompCntr* counter = New<FakeCompCntr>(Kind::comp_cntr, context);
  if (counter == nullptr) return nullptr;
  counter->pub.context = context;
  counter->pub.handle = NextHandle();
  return &counter->pub;
}
#endif

}  // namespace fake

using namespace fake;  // NOLINT

ibv_dmah* fake::NewAllocDmah(ibv_context* context, ibv_dmah_init_attr* /*attr*/) {
  Call call(Verb::ibv_alloc_dmah);
  if (call.Fails(context)) return nullptr;
  FakeDmah* dmah = New<FakeDmah>(Kind::dmah, context);
  if (dmah == nullptr) return nullptr;
  dmah->pub.context = context;
  return &dmah->pub;
}

int fake::NewDeallocDmah(ibv_dmah* dmah) {
  Call call(Verb::ibv_dealloc_dmah);
  return Destroy(call, Obj(dmah), Kind::dmah, Way::kKernel);
}

ibv_mr* fake::NewRegMrEx(ibv_pd* pd, ibv_mr_init_attr* attr) {
  Call call(Verb::ibv_reg_mr_ex);
  if (call.Fails(pd->context)) return nullptr;
  const bool has_fd = (attr->comp_mask & IBV_REG_MR_MASK_FD) != 0;
  const bool has_addr = (attr->comp_mask & IBV_REG_MR_MASK_ADDR) != 0;
  const bool has_dmah = (attr->comp_mask & IBV_REG_MR_MASK_DMAH) != 0;
  if (!IsPd(pd) || has_fd == has_addr || (has_dmah && !Is(Obj(attr->dmah), Kind::dmah))) return Unknown();
  ibv_mr* mr = MakeMr(pd, has_addr ? attr->addr : reinterpret_cast<void*>(attr->fd_offset), attr->length,
                      has_fd ? MrType::kDmabuf : MrType::kPlain);
  if (mr != nullptr && has_dmah) Hold(Obj(mr), Obj(attr->dmah));
  return mr;
}

// The slots of these verbs hold the driver's functions, which no preloaded hook must ever see twice: so the exported
// ones only forward.
FAKE_EXPORT ibv_dmah* ibv_alloc_dmah(ibv_context* context, ibv_dmah_init_attr* attr) {
  return NewAllocDmah(context, attr);
}
FAKE_EXPORT int ibv_dealloc_dmah(ibv_dmah* dmah) { return NewDeallocDmah(dmah); }
FAKE_EXPORT ibv_mr* ibv_reg_mr_ex(ibv_pd* pd, ibv_mr_init_attr* attr) { return NewRegMrEx(pd, attr); }

#endif

#if FAKE_NODE >= 16
int fake::NewDmExportDmabufFd(ibv_dm* dm) {
  Call call(Verb::ibv_dm_export_dmabuf_fd);
  return call.Fails(dm->context) ? -1 : ExportFd();
}
FAKE_EXPORT int ibv_dm_export_dmabuf_fd(ibv_dm* dm) { return NewDmExportDmabufFd(dm); }
#endif

#if FAKE_NODE >= 17
void* fake::NewAllocBuf(ibv_pd* pd, size_t size, ibv_buf** out) {
  Call call(Verb::ibv_alloc_buf);
  if (call.Fails(pd->context)) return nullptr;
  if (!IsPd(pd)) return Unknown();
  FakeBuf* buf = New<FakeBuf>(Kind::buf, pd->context);
  if (buf == nullptr) return nullptr;
  if (posix_memalign(&buf->address, 4096, size) != 0) {
    DestroyAnyway(call, &buf->obj, Kind::buf);
    errno = ENOMEM;
    return nullptr;
  }
  *out = reinterpret_cast<ibv_buf*>(buf);
  return buf->address;
}

void fake::NewFreeBuf(ibv_buf* handle) {
  Call call(Verb::ibv_free_buf);
  void* address = handle != nullptr ? reinterpret_cast<FakeBuf*>(handle)->address : nullptr;
  DestroyAnyway(call, Obj(handle), Kind::buf);
  free(address);
}

FAKE_EXPORT void* ibv_alloc_buf(ibv_pd* pd, size_t size, ibv_buf** out) { return NewAllocBuf(pd, size, out); }
FAKE_EXPORT void ibv_free_buf(ibv_buf* handle) { NewFreeBuf(handle); }

FAKE_EXPORT ibv_mr* ibv_reg_buf_mr(ibv_pd* pd, ibv_buf* buf, void* addr, size_t length, int access) {
  Call call(Verb::ibv_reg_buf_mr);
  if (call.Fails()) return nullptr;
  if (!Is(Obj(buf), Kind::buf)) return Unknown();
  ibv_mr_init_attr attr = {};
  attr.addr = addr;
  attr.length = length;
  attr.access = access;
  attr.comp_mask = IBV_REG_MR_MASK_ADDR;
#if !defined(FAKE_HEADER_HAS_DMAH) || defined(FAKE_HEADER_HAS_BUF)
  attr.comp_mask |= IBV_REG_MR_MASK_BUF;
  attr.buf = buf;
#endif
  return ibv_reg_mr_ex(pd, &attr);  // through the PLT, as the real one
}
#endif

#if FAKE_NODE >= 18
FAKE_EXPORT int ibv_export_buf_dmabuf_fd(ibv_buf* buf) {
  Call call(Verb::ibv_export_buf_dmabuf_fd);
  if (call.Fails()) return -1;
  if (!Is(Obj(buf), Kind::buf)) {
    errno = EINVAL;
    return -1;
  }
  return ExportFd();
}

FAKE_EXPORT ibv_comp_cntr* ibv_create_comp_cntr(ibv_context* context, ibv_comp_cntr_init_attr* /*attr*/) {
  Call call(Verb::ibv_create_comp_cntr);
  return call.Fails(context) ? nullptr : MakeCompCntr(context);
}

FAKE_EXPORT int ibv_destroy_comp_cntr(ibv_comp_cntr* counter) {
  Call call(Verb::ibv_destroy_comp_cntr);
  return Destroy(call, Obj(counter), Kind::comp_cntr, Way::kKernel);
}

FAKE_EXPORT int ibv_set_comp_cntr(ibv_comp_cntr* counter, uint64_t value) {
  return Change(Verb::ibv_set_comp_cntr, counter, &FakeCompCntr::count, false, value);
}

FAKE_EXPORT int ibv_set_err_comp_cntr(ibv_comp_cntr* counter, uint64_t value) {
  return Change(Verb::ibv_set_err_comp_cntr, counter, &FakeCompCntr::errors, false, value);
}

FAKE_EXPORT int ibv_inc_comp_cntr(ibv_comp_cntr* counter, uint64_t amount) {
  return Change(Verb::ibv_inc_comp_cntr, counter, &FakeCompCntr::count, true, amount);
}

FAKE_EXPORT int ibv_inc_err_comp_cntr(ibv_comp_cntr* counter, uint64_t amount) {
  return Change(Verb::ibv_inc_err_comp_cntr, counter, &FakeCompCntr::errors, true, amount);
}

FAKE_EXPORT int ibv_read_comp_cntr(ibv_comp_cntr* counter, uint64_t* value) {
  return Read(Verb::ibv_read_comp_cntr, counter, &FakeCompCntr::count, value);
}

FAKE_EXPORT int ibv_read_err_comp_cntr(ibv_comp_cntr* counter, uint64_t* value) {
  return Read(Verb::ibv_read_err_comp_cntr, counter, &FakeCompCntr::errors, value);
}

FAKE_EXPORT int ibv_qp_attach_comp_cntr(ibv_qp* qp, ibv_comp_cntr* counter, ibv_qp_attach_comp_cntr_attr* /*attr*/) {
  Call call(Verb::ibv_qp_attach_comp_cntr);
  if (const int error = call.Error(qp->context)) return error;
  if (!Is(Obj(qp), Kind::qp) || !Is(Obj(counter), Kind::comp_cntr)) return EINVAL;
  if (qp->state != IBV_QPS_RESET && qp->state != IBV_QPS_INIT) return EINVAL;
  Hold(Obj(qp), Obj(counter));  // no verb detaches it: the QP's destroy does
  return 0;
}

FAKE_EXPORT int _ibv_query_comp_cntr_caps(ibv_context* context, ibv_comp_cntr_caps* caps, size_t size) {
  Call call(Verb::_ibv_query_comp_cntr_caps);
  if (const int error = call.Error(context)) return error;
  ibv_comp_cntr_caps full = {UINT64_MAX, 1 << 10, 0x3f};
  memcpy(caps, &full, size < sizeof full ? size : sizeof full);
  return 0;
}
#endif
