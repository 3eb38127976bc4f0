// The number by which an object differs from the one that had its address before it: where it lies in the public struct
// and in the ledger's record. All these structs begin with their context.
#pragma once

#include <cstddef>

#include "interpose/ledger/entry.h"
#include "interpose/verbs/verbs_abi.h"

namespace rdmacheck {

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
