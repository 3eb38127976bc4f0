// The numbers a user knows an object by, read from the public structs right after the object was made, when they are
// surely valid; and where these structs hold what is read of them later. What a, b and c mean for each kind stands in
// ledger/number_names.h.
#pragma once

#include <cstddef>

#include "interpose/ledger/entry.h"
#include "interpose/ledger/number_names.h"
#include "interpose/verbs/kind_of.h"

namespace rdmacheck {

// The state of a QP that cannot be used any more, as in Numbers::c.
inline constexpr uint64_t kQpsErr = IBV_QPS_ERR;

constexpr uint64_t Pack(uint32_t low, uint32_t high) { return static_cast<uint64_t>(high) << 32 | low; }

struct NoNumbers : Numbers {};
template <class T>
NoNumbers NumbersOf(const T*) {
  return {};
}
inline Numbers NumbersOf(const ibv_pd* pd) { return {pd->handle, 0, 0}; }
inline Numbers NumbersOf(const ibv_mr* mr) {
  return {HandleOf(mr->addr), mr->length, Pack(mr->lkey, mr->rkey)};
}
inline Numbers NumbersOf(const ibv_mw* mw) { return {mw->rkey, mw->handle, static_cast<uint64_t>(mw->type)}; }
inline Numbers NumbersOf(const ibv_cq* cq) { return {static_cast<uint32_t>(cq->cqe), cq->handle, 0}; }
inline Numbers NumbersOf(const ibv_cq_ex* cq) { return {static_cast<uint32_t>(cq->cqe), cq->handle, 0}; }
inline Numbers NumbersOf(const ibv_comp_channel* channel) { return {static_cast<uint32_t>(channel->fd), 0, 0}; }
// c is the state, kept up to date by ibv_modify_qp; a QP is born in RESET.
inline Numbers NumbersOf(const ibv_qp* qp) {
  return {qp->qp_num, Pack(qp->handle, static_cast<uint32_t>(qp->qp_type)), static_cast<uint64_t>(qp->state)};
}
inline Numbers NumbersOf(const ibv_srq* srq) { return {srq->handle, 0, 0}; }
inline Numbers NumbersOf(const ibv_ah* ah) { return {ah->handle, 0, 0}; }
inline Numbers NumbersOf(const ibv_wq* wq) { return {wq->wq_num, wq->handle, static_cast<uint64_t>(wq->state)}; }
inline Numbers NumbersOf(const ibv_rwq_ind_table* table) {
  return {static_cast<uint32_t>(table->ind_tbl_num), static_cast<uint32_t>(table->ind_tbl_handle), 0};
}
inline Numbers NumbersOf(const ibv_flow* flow) { return {flow->handle, 0, 0}; }
inline Numbers NumbersOf(const ibv_dm* dm) { return {reinterpret_cast<const abi::Dm*>(dm)->handle, 0, 0}; }

// The number by which an object differs from the one that had its address before it: where it lies in the public struct
// and in the ledger's record. All these structs begin with their context.
struct Fingerprint {
  ptrdiff_t offset = -1;  // -1: this kind has none
  uint32_t (*NumberOf)(const Numbers&) = nullptr;
};

inline Fingerprint FingerprintOf(Kind kind) {
  switch (kind) {
    case Kind::kQp:
      return {offsetof(ibv_qp, qp_num), [](const Numbers& n) { return static_cast<uint32_t>(n.a); }};
    case Kind::kCq:
      return {offsetof(ibv_cq, handle), [](const Numbers& n) { return static_cast<uint32_t>(n.b); }};
    case Kind::kMr:
      return {offsetof(ibv_mr, lkey), [](const Numbers& n) { return static_cast<uint32_t>(n.c); }};
    case Kind::kMw:
      return {offsetof(ibv_mw, handle), [](const Numbers& n) { return static_cast<uint32_t>(n.b); }};
    default:
      return {};
  }
}

// Where the struct of a channel or context holds the descriptor that its gets read; -1: another kind.
inline ptrdiff_t FdOffsetOf(Kind kind) {
  switch (kind) {
    case Kind::kCompChannel:
      return offsetof(ibv_comp_channel, fd);
    case Kind::kContext:
      return offsetof(ibv_context, async_fd);
    case Kind::kCmChannel:
      return 0;  // rdma_event_channel holds nothing else
    default:
      return -1;
  }
}

// Where a public struct holds its context; -1 for the opaque ones.
inline ptrdiff_t ContextOffsetOf(Kind kind) {
  switch (kind) {
    case Kind::kPd:
    case Kind::kParentDomain:
      return offsetof(ibv_pd, context);
    case Kind::kCompChannel:
      return offsetof(ibv_comp_channel, context);
    case Kind::kCq:
      return offsetof(ibv_cq, context);
    case Kind::kMr:
      return offsetof(ibv_mr, context);
    case Kind::kMw:
      return offsetof(ibv_mw, context);
    case Kind::kQp:
      return offsetof(ibv_qp, context);
    case Kind::kSrq:
      return offsetof(ibv_srq, context);
    case Kind::kDm:
      return offsetof(ibv_dm, context);
    case Kind::kTd:
      return offsetof(ibv_td, context);
    case Kind::kXrcd:
      return offsetof(ibv_xrcd, context);
    case Kind::kWq:
      return offsetof(ibv_wq, context);
    case Kind::kAh:
      return offsetof(ibv_ah, context);
    default:
      return -1;
  }
}

}  // namespace rdmacheck
