// libefa: queue pairs, completion queues and completion counters of the generic kinds.
#include <infiniband/efadv.h>

#include "fake_dv.h"

struct efadv_comp_cntr_init_attr;

using namespace fake;  // NOLINT

FAKE_EXPORT ibv_qp* efadv_create_driver_qp(ibv_pd* pd, ibv_qp_init_attr* attr, uint32_t /*type*/) {
  Call call(Verb::efadv_create_driver_qp);
  if (call.Fails(pd->context)) return nullptr;
  ibv_qp_init_attr_ex full = {};
  full.qp_context = attr->qp_context;
  full.send_cq = attr->send_cq;
  full.recv_cq = attr->recv_cq;
  full.srq = attr->srq;
  full.cap = attr->cap;
  full.qp_type = IBV_QPT_DRIVER;
  full.comp_mask = IBV_QP_INIT_ATTR_PD;
  full.pd = pd;
  return MakeQp(pd->context, full);
}

FAKE_EXPORT ibv_qp* efadv_create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attr, efadv_qp_init_attr*, uint32_t) {
  Call call(Verb::efadv_create_qp_ex);
  return call.Fails(context) ? nullptr : MakeQp(context, *attr);
}

FAKE_EXPORT ibv_cq_ex* efadv_create_cq(ibv_context* context, ibv_cq_init_attr_ex* attr, efadv_cq_init_attr*, uint32_t) {
  Call call(Verb::efadv_create_cq);
  if (call.Fails(context)) return nullptr;
  return MakeCq(context, attr->cqe, attr->cq_context, attr->channel, attr->comp_vector, nullptr);
}

FAKE_EXPORT ibv_comp_cntr* efadv_create_comp_cntr(ibv_context* context, ibv_comp_cntr_init_attr*,
                                                  efadv_comp_cntr_init_attr*, uint32_t) {
  Call call(Verb::efadv_create_comp_cntr);
  return call.Fails(context) ? nullptr : MakeCompCntr(context);
}

FAKE_EXPORT int efadv_query_device(ibv_context*, efadv_device_attr*, uint32_t) { return EOPNOTSUPP; }
FAKE_EXPORT int efadv_query_ah(ibv_ah*, efadv_ah_attr*, uint32_t) { return EOPNOTSUPP; }
FAKE_EXPORT efadv_cq* efadv_cq_from_ibv_cq_ex(ibv_cq_ex*) { return nullptr; }
