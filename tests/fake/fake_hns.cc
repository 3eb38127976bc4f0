// libhns, whose header rdma-core 44 does not install: one creating verb.
#include "fake_dv.h"

struct hnsdv_context;
struct hnsdv_qp_init_attr;

using namespace fake;  // NOLINT

FAKE_EXPORT ibv_qp* hnsdv_create_qp(ibv_context* context, ibv_qp_init_attr_ex* attr, hnsdv_qp_init_attr*) {
  Call call(Verb::hnsdv_create_qp);
  return call.Fails(context) ? nullptr : MakeQp(context, *attr);
}

FAKE_EXPORT bool hnsdv_is_supported(ibv_device*) { return true; }
FAKE_EXPORT int hnsdv_query_device(ibv_context*, hnsdv_context*) { return EOPNOTSUPP; }
