// The one door for librdmacm's headers.
#pragma once

#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>

#include "interpose/verbs/numbers.h"

// <rdma/rdma_verbs.h> has these three among inline functions that use the macros verbs_abi.h undoes.
extern "C" {
int rdma_create_srq(struct rdma_cm_id* id, struct ibv_pd* pd, struct ibv_srq_init_attr* attr);
int rdma_create_srq_ex(struct rdma_cm_id* id, struct ibv_srq_init_attr_ex* attr);
void rdma_destroy_srq(struct rdma_cm_id* id);
}

namespace rdmacheck {

template <>
struct KindOf<rdma_event_channel> {
  static constexpr Kind value = Kind::kCmChannel;
};
template <>
struct KindOf<rdma_cm_id> {
  static constexpr Kind value = Kind::kCmId;
};
template <>
struct KindOf<rdma_cm_event> {
  static constexpr Kind value = Kind::kCmEvent;
};

inline Numbers NumbersOf(const rdma_event_channel* channel) { return {static_cast<uint32_t>(channel->fd), 0, 0}; }
inline Numbers NumbersOf(ibv_context* const* list) {
  uint64_t count = 0;
  while (list[count] != nullptr) ++count;
  return {count, 0, 0};
}

}  // namespace rdmacheck
