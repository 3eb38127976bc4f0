// The numbers a user knows an object by, read from the public structs right after the object was made, when they are
// surely valid. What a, b and c mean for each kind is read back in judge/objects.cc, and nowhere else.
#pragma once

#include "interpose/ledger/entry.h"
#include "interpose/verbs/kind_of.h"

namespace rdmacheck {

// The state of a QP that cannot be used any more, as in Numbers::c.
inline constexpr uint64_t kQpsErr = IBV_QPS_ERR;

constexpr uint64_t Pack(uint32_t low, uint32_t high) { return static_cast<uint64_t>(high) << 32 | low; }

template <class T>
Numbers NumbersOf(const T*) {
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
inline Numbers NumbersOf(const ibv_dm* dm) { return {dm->handle, 0, 0}; }
inline Numbers NumbersOf(const ibv_counters*) { return {}; }

}  // namespace rdmacheck
