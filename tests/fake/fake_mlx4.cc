// libmlx4: one creating verb.
#include <infiniband/mlx4dv.h>

#include "fake_dv.h"

using namespace fake;  // NOLINT

FAKE_EXPORT ibv_qp* mlx4dv_create_qp(ibv_context* context, ibv_qp_init_attr_ex* attr, mlx4dv_qp_init_attr*) {
  Call call(Verb::mlx4dv_create_qp);
  return call.Fails(context) ? nullptr : MakeQp(context, *attr);
}

FAKE_EXPORT int mlx4dv_init_obj(mlx4dv_obj*, uint64_t) { return EOPNOTSUPP; }
FAKE_EXPORT int mlx4dv_query_device(ibv_context*, mlx4dv_context*) { return EOPNOTSUPP; }
FAKE_EXPORT int mlx4dv_set_context_attr(ibv_context*, mlx4dv_set_ctx_attr_type, void*) { return EOPNOTSUPP; }
