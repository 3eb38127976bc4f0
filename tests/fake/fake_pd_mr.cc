// Protection, thread and parent domains; memory regions and windows; device memory.
#include <unistd.h>

#include "fake_internal.h"
#include "fake_slots.h"

namespace fake {

std::atomic<bool> g_memory_registered{false};

namespace {

ibv_pd* MakePd(ibv_context* context, uint32_t handle) {
  FakePd* pd = New<FakePd>(Kind::pd, context);
  if (pd == nullptr) return nullptr;
  pd->pub.context = context;
  pd->pub.handle = handle;
  return &pd->pub;
}

void Bind(ibv_mw* mw, ibv_mr* mr) {
  Object* next = mr != nullptr ? Obj(mr) : nullptr;
  if (next != nullptr) Ref(next);
  Object* previous = reinterpret_cast<FakeMw*>(mw)->bound.exchange(next);
  if (previous != nullptr) Unref(previous);
}

}  // namespace

ibv_mr* MakeMr(ibv_pd* pd, void* addr, size_t length, MrType type) {
  FakeMr* mr = New<FakeMr>(Kind::mr, pd->context);
  if (mr == nullptr) return nullptr;
  // Unlike a counter, the address needs no shared cache line and is unique among live MRs.
  const uint32_t key = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(mr) >> 4);
  mr->pub = {pd->context, pd, addr, length, key, key, key};
  mr->type = type;
  HoldPd(&mr->obj, pd, false);
  if (!g_memory_registered.load(std::memory_order_relaxed)) g_memory_registered = true;
  return &mr->pub;
}

ibv_dm* MakeDm(ibv_context* context, size_t length) {
  FakeDm* dm = New<FakeDm>(Kind::dm, context);
  if (dm == nullptr) return nullptr;
  dm->pub.context = context;
  dm->pub.handle = NextHandle();
  dm->pub.memcpy_to_dm = [](ibv_dm*, uint64_t, const void*, size_t) { return 0; };
  dm->pub.memcpy_from_dm = [](void*, ibv_dm*, uint64_t, size_t) { return 0; };
  dm->length = length;
  return &dm->pub;
}

int FreeDm(const Call& call, ibv_dm* dm) { return Destroy(call, Obj(dm), Kind::dm, Way::kKernel); }

// Type-2 windows are bound by work requests: the QP calls these.
void BindMw(ibv_mw* mw, ibv_mr* mr, uint32_t rkey) {
  Bind(mw, mr);
  mw->rkey = rkey;
}

ibv_td* SlotAllocTd(ibv_context* context, ibv_td_init_attr* /*attr*/) {
  Call call(Verb::ibv_alloc_td);
  if (call.Fails()) return nullptr;
  FakeTd* td = New<FakeTd>(Kind::td, context);
  if (td == nullptr) return nullptr;
  td->pub.context = context;
  return &td->pub;
}

int SlotDeallocTd(ibv_td* td) {
  Call call(Verb::ibv_dealloc_td);
  return Destroy(call, Obj(td), Kind::td, Way::kLocal);
}

ibv_pd* SlotAllocParentDomain(ibv_context* context, ibv_parent_domain_init_attr* attr) {
  Call call(Verb::ibv_alloc_parent_domain);
  if (call.Fails()) return nullptr;
  if (!Is(Obj(attr->pd), Kind::pd) || (attr->td != nullptr && !Is(Obj(attr->td), Kind::td))) return Unknown();
  FakePd* domain = New<FakePd>(Kind::parent_domain, context);
  if (domain == nullptr) return nullptr;
  domain->pub.context = context;
  domain->pub.handle = attr->pd->handle;  // shares the kernel's PD
  domain->inner = attr->pd;
  Hold(&domain->obj, Obj(attr->pd));
  if (attr->td != nullptr) Hold(&domain->obj, Obj(attr->td));
  return &domain->pub;
}

ibv_mr* SlotAllocNullMr(ibv_pd* pd) {
  Call call(Verb::ibv_alloc_null_mr);
  if (call.Fails(pd->context)) return nullptr;
  if (!IsPd(pd)) return Unknown();
  return MakeMr(pd, nullptr, SIZE_MAX, MrType::kNull);
}

ibv_mr* SlotRegDmMr(ibv_pd* pd, ibv_dm* dm, uint64_t offset, size_t length, unsigned /*access*/) {
  Call call(Verb::ibv_reg_dm_mr);
  if (call.Fails(pd->context)) return nullptr;
  if (!IsPd(pd) || !Is(Obj(dm), Kind::dm)) return Unknown();
  if (offset + length > reinterpret_cast<FakeDm*>(dm)->length) return Unknown();
  ibv_mr* mr = MakeMr(pd, nullptr, length, MrType::kDm);
  if (mr != nullptr) Hold(Obj(mr), Obj(dm));
  return mr;
}

int SlotAdviseMr(ibv_pd* pd, ibv_advise_mr_advice /*advice*/, uint32_t /*flags*/, ibv_sge* /*list*/,
                 uint32_t /*count*/) {
  Call call(Verb::ibv_advise_mr);
  if (const int error = call.Error(pd->context)) return error;
  return IsPd(pd) ? 0 : EINVAL;
}

ibv_dm* SlotAllocDm(ibv_context* context, ibv_alloc_dm_attr* attr) {
  Call call(Verb::ibv_alloc_dm);
  return call.Fails(context) ? nullptr : MakeDm(context, attr->length);
}

int SlotFreeDm(ibv_dm* dm) {
  Call call(Verb::ibv_free_dm);
  return FreeDm(call, dm);
}

ibv_mw* SlotAllocMw(ibv_pd* pd, ibv_mw_type type) {
  Call call(Verb::ibv_alloc_mw);
  if (call.Fails(pd->context)) return nullptr;
  if (!IsPd(pd)) return Unknown();
  FakeMw* mw = New<FakeMw>(Kind::mw, pd->context);
  if (mw == nullptr) return nullptr;
  mw->pub.context = pd->context;
  mw->pub.pd = pd;
  mw->pub.handle = NextHandle();
  mw->pub.rkey = mw->pub.handle << 8;
  mw->pub.type = type;
  HoldPd(&mw->obj, pd, false);
  return &mw->pub;
}

int SlotBindMw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) {
  Call call(Verb::ibv_bind_mw);
  if (const int error = call.Error(qp->context)) return error;
  if (!Is(Obj(qp), Kind::qp) || !Is(Obj(mw), Kind::mw) || mw->type != IBV_MW_TYPE_1) return EINVAL;
  ibv_mr* mr = bind->bind_info.length != 0 ? bind->bind_info.mr : nullptr;
  if (mr != nullptr && (!Is(Obj(mr), Kind::mr) || mr->pd != mw->pd)) return EPERM;
  BindMw(mw, mr, mw->rkey + 1);
  return 0;
}

int SlotDeallocMw(ibv_mw* mw) {
  Call call(Verb::ibv_dealloc_mw);
  const Outcome outcome = Kill(call, Obj(mw), Kind::mw, Way::kKernel);
  if (outcome.error != 0) return outcome.error;
  Bind(mw, nullptr);
  Bury(Obj(mw));
  return 0;
}

}  // namespace fake

using namespace fake;  // NOLINT

FAKE_EXPORT ibv_pd* ibv_alloc_pd(ibv_context* context) {
  Call call(Verb::ibv_alloc_pd);
  return call.Fails(context) ? nullptr : MakePd(context, NextHandle());
}

FAKE_EXPORT ibv_pd* ibv_import_pd(ibv_context* context, uint32_t handle) {
  Call call(Verb::ibv_import_pd);
  return call.Fails(context) ? nullptr : MakePd(context, handle);
}

FAKE_EXPORT void ibv_unimport_pd(ibv_pd* pd) {
  Call call(Verb::ibv_unimport_pd);
  DestroyAnyway(call, Obj(pd), Kind::pd);
}

FAKE_EXPORT int ibv_dealloc_pd(ibv_pd* pd) {
  Call call(Verb::ibv_dealloc_pd);
  if (Is(Obj(pd), Kind::parent_domain)) return Destroy(call, Obj(pd), Kind::parent_domain, Way::kLocal);
  return Destroy(call, Obj(pd), Kind::pd, Way::kKernel);
}

FAKE_EXPORT ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* addr, size_t length, uint64_t /*iova*/, unsigned /*access*/) {
  Call call(Verb::ibv_reg_mr_iova2);
  if (call.Fails(pd->context)) return nullptr;
  if (!IsPd(pd)) return Unknown();
  return MakeMr(pd, addr, length, MrType::kPlain);
}

// Both older functions go through the PLT, as in the real library: a preloaded hook sees the inner call too.
FAKE_EXPORT ibv_mr* ibv_reg_mr(ibv_pd* pd, void* addr, size_t length, int access) {
  Call call(Verb::ibv_reg_mr);
  if (call.Fails()) return nullptr;
  return ibv_reg_mr_iova2(pd, addr, length, reinterpret_cast<uintptr_t>(addr), static_cast<unsigned>(access));
}

FAKE_EXPORT ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* addr, size_t length, uint64_t iova, int access) {
  Call call(Verb::ibv_reg_mr_iova);
  if (call.Fails()) return nullptr;
  return ibv_reg_mr_iova2(pd, addr, length, iova, static_cast<unsigned>(access));
}

FAKE_EXPORT ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t length, uint64_t /*iova*/, int fd,
                                      int /*access*/) {
  Call call(Verb::ibv_reg_dmabuf_mr);
  if (call.Fails(pd->context)) return nullptr;
  if (!IsPd(pd)) return Unknown();
  if (fd < 0) {
    errno = EBADF;
    return nullptr;
  }
  return MakeMr(pd, reinterpret_cast<void*>(offset), length, MrType::kDmabuf);
}

FAKE_EXPORT ibv_mr* ibv_import_mr(ibv_pd* pd, uint32_t handle) {
  Call call(Verb::ibv_import_mr);
  if (call.Fails(pd->context)) return nullptr;
  if (!IsPd(pd)) return Unknown();
  ibv_mr* mr = MakeMr(pd, nullptr, 0, MrType::kImported);
  if (mr != nullptr) mr->handle = handle;
  return mr;
}

FAKE_EXPORT void ibv_unimport_mr(ibv_mr* mr) {
  Call call(Verb::ibv_unimport_mr);
  DestroyAnyway(call, Obj(mr), Kind::mr);
}

FAKE_EXPORT int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* addr, size_t length, int /*access*/) {
  Call call(Verb::ibv_rereg_mr);
  if (call.Fails(mr->context)) return errno == EINVAL ? IBV_REREG_MR_ERR_INPUT : IBV_REREG_MR_ERR_CMD;
  const bool plain = Is(Obj(mr), Kind::mr) && reinterpret_cast<FakeMr*>(mr)->type == MrType::kPlain;
  const bool moves = (flags & IBV_REREG_MR_CHANGE_PD) != 0;
  if (!plain || (moves && !IsPd(pd))) {
    errno = EINVAL;
    return IBV_REREG_MR_ERR_INPUT;
  }
  if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0) {
    mr->addr = addr;
    mr->length = length;
  }
  if (moves) {
    Object* object = Obj(mr);
    Object* previous = object->parents[0];
    object->parent_count = 0;
    HoldPd(object, pd, false);
    Unref(previous);
    mr->pd = pd;
  }
  return 0;
}

FAKE_EXPORT int ibv_dereg_mr(ibv_mr* mr) {
  Call call(Verb::ibv_dereg_mr);
  return Destroy(call, Obj(mr), Kind::mr, Way::kKernel, EINVAL);  // EINVAL: a window is bound
}

FAKE_EXPORT ibv_dm* ibv_import_dm(ibv_context* context, uint32_t handle) {
  Call call(Verb::ibv_import_dm);
  if (call.Fails(context)) return nullptr;
  ibv_dm* dm = MakeDm(context, SIZE_MAX);
  if (dm != nullptr) dm->handle = handle;
  return dm;
}

FAKE_EXPORT void ibv_unimport_dm(ibv_dm* dm) {
  Call call(Verb::ibv_unimport_dm);
  DestroyAnyway(call, Obj(dm), Kind::dm);
}
