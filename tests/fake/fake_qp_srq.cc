// Queue pairs, shared receive queues, XRC domains, multicast groups and address handles.
#include "fake_internal.h"
#include "fake_slots.h"

namespace fake {

void BindMw(ibv_mw* mw, ibv_mr* mr, uint32_t rkey);

namespace {

pthread_mutex_t g_mcast_lock = PTHREAD_MUTEX_INITIALIZER;

bool Optional(const Object* object, Kind kind) { return object == nullptr || Is(object, kind); }

ibv_srq* MakeSrq(ibv_context* context, const ibv_srq_init_attr_ex& attr) {
  const bool has_xrcd = (attr.comp_mask & IBV_SRQ_INIT_ATTR_XRCD) != 0;
  const bool has_cq = (attr.comp_mask & IBV_SRQ_INIT_ATTR_CQ) != 0;
  if (!IsPd(attr.pd) || (has_xrcd && !Is(Obj(attr.xrcd), Kind::xrcd)) || (has_cq && !Is(Obj(attr.cq), Kind::cq))) {
    return Unknown();
  }
  FakeSrq* srq = New<FakeSrq>(Kind::srq, context);
  if (srq == nullptr) return nullptr;
  srq->pub.context = context;
  srq->pub.srq_context = attr.srq_context;
  srq->pub.pd = attr.pd;
  srq->pub.handle = srq->number = NextHandle();
  srq->attr = attr.attr;
  pthread_mutex_init(&srq->pub.mutex, nullptr);
  pthread_cond_init(&srq->pub.cond, nullptr);
  HoldPd(&srq->obj, attr.pd, false);
  if (has_xrcd) Hold(&srq->obj, Obj(attr.xrcd));
  if (has_cq) Hold(&srq->obj, Obj(attr.cq));
  return &srq->pub;
}

// ibv_qp_ex: the work request calls, of which only those that bind windows do anything.
void FillWorkRequests(ibv_qp_ex* qp) {
  qp->wr_atomic_cmp_swp = [](ibv_qp_ex*, uint32_t, uint64_t, uint64_t, uint64_t) {};
  qp->wr_atomic_fetch_add = [](ibv_qp_ex*, uint32_t, uint64_t, uint64_t) {};
  qp->wr_bind_mw = [](ibv_qp_ex*, ibv_mw* mw, uint32_t rkey, const ibv_mw_bind_info* info) {
    BindMw(mw, info->length != 0 ? info->mr : nullptr, rkey);
  };
  qp->wr_local_inv = [](ibv_qp_ex*, uint32_t) {};
  qp->wr_rdma_read = [](ibv_qp_ex*, uint32_t, uint64_t) {};
  qp->wr_rdma_write = [](ibv_qp_ex*, uint32_t, uint64_t) {};
  qp->wr_rdma_write_imm = [](ibv_qp_ex*, uint32_t, uint64_t, __be32) {};
  qp->wr_send = [](ibv_qp_ex*) {};
  qp->wr_send_imm = [](ibv_qp_ex*, __be32) {};
  qp->wr_send_inv = [](ibv_qp_ex*, uint32_t) {};
  qp->wr_send_tso = [](ibv_qp_ex*, void*, uint16_t, uint16_t) {};
  qp->wr_set_ud_addr = [](ibv_qp_ex*, ibv_ah*, uint32_t, uint32_t) {};
  qp->wr_set_xrc_srqn = [](ibv_qp_ex*, uint32_t) {};
  qp->wr_set_inline_data = [](ibv_qp_ex*, void*, size_t) {};
  qp->wr_set_inline_data_list = [](ibv_qp_ex*, size_t, const ibv_data_buf*) {};
  qp->wr_set_sge = [](ibv_qp_ex*, uint32_t, uint64_t, uint32_t) {};
  qp->wr_set_sge_list = [](ibv_qp_ex*, size_t, const ibv_sge*) {};
  qp->wr_start = [](ibv_qp_ex*) {};
  qp->wr_complete = [](ibv_qp_ex*) { return 0; };
  qp->wr_abort = [](ibv_qp_ex*) {};
  qp->wr_atomic_write = [](ibv_qp_ex*, uint32_t, uint64_t, const void*) {};
}

FakeQp* NewQp(ibv_context* context, ibv_qp_type type, void* qp_context) {
  FakeQp* qp = New<FakeQp>(Kind::qp, context);
  if (qp == nullptr) return nullptr;
  ibv_qp& base = qp->pub.qp_base;
  base.context = context;
  base.qp_context = qp_context;
  base.handle = NextHandle();
  base.qp_num = 0x1000 + base.handle;
  base.state = IBV_QPS_RESET;
  base.qp_type = type;
  pthread_mutex_init(&base.mutex, nullptr);
  pthread_cond_init(&base.cond, nullptr);
  FillWorkRequests(&qp->pub);
  return qp;
}

McastGroup** FindGroup(FakeQp* qp, const ibv_gid& gid, uint16_t lid) {
  McastGroup** at = &qp->groups;
  while (*at != nullptr && ((*at)->lid != lid || memcmp(&(*at)->gid, &gid, sizeof gid) != 0)) at = &(*at)->next;
  return at;
}

void LeaveGroup(FakeQp* qp, McastGroup** at) {
  McastGroup* group = *at;
  *at = group->next;
  free(group);
  Unref(&qp->obj);
}

}  // namespace

ibv_qp* MakeQp(ibv_context* context, const ibv_qp_init_attr_ex& attr) {
  ibv_pd* pd = (attr.comp_mask & IBV_QP_INIT_ATTR_PD) != 0 ? attr.pd : nullptr;
  ibv_xrcd* xrcd = (attr.comp_mask & IBV_QP_INIT_ATTR_XRCD) != 0 ? attr.xrcd : nullptr;
  ibv_rwq_ind_table* table = (attr.comp_mask & IBV_QP_INIT_ATTR_IND_TABLE) != 0 ? attr.rwq_ind_tbl : nullptr;
  const bool queues_known = Optional(Obj(attr.send_cq), Kind::cq) && Optional(Obj(attr.recv_cq), Kind::cq) &&
                            Optional(Obj(attr.srq), Kind::srq);
  if (!queues_known || (pd != nullptr && !IsPd(pd)) || (pd == nullptr && xrcd == nullptr) ||
      !Optional(Obj(xrcd), Kind::xrcd) || !Optional(Obj(table), Kind::rwq_ind_table)) {
    return Unknown();
  }
  FakeQp* qp = NewQp(context, attr.qp_type, attr.qp_context);
  if (qp == nullptr) return nullptr;
  ibv_qp& base = qp->pub.qp_base;
  base.pd = pd;
  base.send_cq = attr.send_cq;
  base.recv_cq = attr.recv_cq;
  base.srq = attr.srq;
  qp->cap = attr.cap;
  qp->sq_sig_all = attr.sq_sig_all;
  if (pd != nullptr) HoldPd(&qp->obj, pd, true);
  Object* const parents[] = {Obj(attr.send_cq), Obj(attr.recv_cq), Obj(attr.srq), Obj(xrcd), Obj(table)};
  for (Object* parent : parents) {
    if (parent != nullptr) Hold(&qp->obj, parent);
  }
  return &base;
}

ibv_srq* SlotCreateSrqEx(ibv_context* context, ibv_srq_init_attr_ex* attr) {
  Call call(Verb::ibv_create_srq_ex);
  return call.Fails(context) ? nullptr : MakeSrq(context, *attr);
}

int SlotGetSrqNum(ibv_srq* srq, uint32_t* number) {
  Call call(Verb::ibv_get_srq_num);
  *number = reinterpret_cast<FakeSrq*>(srq)->number;
  return call.Error(srq->context);
}

int SlotPostSrqOps(ibv_srq* srq, ibv_ops_wr* op, ibv_ops_wr** bad) {
  Call call(Verb::ibv_post_srq_ops);
  *bad = nullptr;
  const int error = Is(Obj(srq), Kind::srq) ? call.Error() : EINVAL;
  if (error != 0) *bad = op;
  return error;
}

int SlotPostSrqRecv(ibv_srq* /*srq*/, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  Call call(Verb::ibv_post_srq_recv);
  if (call.Error() != 0) *bad = wr;
  return call.Error();
}

ibv_xrcd* SlotOpenXrcd(ibv_context* context, ibv_xrcd_init_attr* /*attr*/) {
  Call call(Verb::ibv_open_xrcd);
  if (call.Fails(context)) return nullptr;
  FakeXrcd* xrcd = New<FakeXrcd>(Kind::xrcd, context);
  if (xrcd == nullptr) return nullptr;
  xrcd->pub.context = context;
  return &xrcd->pub;
}

int SlotCloseXrcd(ibv_xrcd* xrcd) {
  Call call(Verb::ibv_close_xrcd);
  return Destroy(call, Obj(xrcd), Kind::xrcd, Way::kKernel);
}

ibv_qp* SlotCreateQpEx(ibv_context* context, ibv_qp_init_attr_ex* attr) {
  Call call(Verb::ibv_create_qp_ex);
  return call.Fails(context) ? nullptr : MakeQp(context, *attr);
}

ibv_qp* SlotOpenQp(ibv_context* context, ibv_qp_open_attr* attr) {
  Call call(Verb::ibv_open_qp);
  if (call.Fails(context)) return nullptr;
  if (!Is(Obj(attr->xrcd), Kind::xrcd)) return Unknown();
  FakeQp* qp = NewQp(context, attr->qp_type, attr->qp_context);
  if (qp == nullptr) return nullptr;
  qp->pub.qp_base.qp_num = attr->qp_num;
  Hold(&qp->obj, Obj(attr->xrcd));
  return &qp->pub.qp_base;
}

int SlotModifyQpRateLimit(ibv_qp* qp, ibv_qp_rate_limit_attr* /*attr*/) {
  Call call(Verb::ibv_modify_qp_rate_limit);
  if (const int error = call.Error(qp->context)) return error;
  return Is(Obj(qp), Kind::qp) ? 0 : EINVAL;
}

int SlotPostSend(ibv_qp* /*qp*/, ibv_send_wr* wr, ibv_send_wr** bad) {
  Call call(Verb::ibv_post_send);
  if (const int error = call.Error()) {
    *bad = wr;
    return error;
  }
  for (; wr != nullptr; wr = wr->next) {
    if (wr->opcode != IBV_WR_BIND_MW) continue;
    ibv_mr* mr = wr->bind_mw.bind_info.length != 0 ? wr->bind_mw.bind_info.mr : nullptr;
    BindMw(wr->bind_mw.mw, mr, wr->bind_mw.rkey);
  }
  return 0;
}

int SlotPostRecv(ibv_qp* /*qp*/, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  Call call(Verb::ibv_post_recv);
  if (call.Error() != 0) *bad = wr;
  return call.Error();
}

}  // namespace fake

using namespace fake;  // NOLINT

FAKE_EXPORT ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* attr) {
  Call call(Verb::ibv_create_srq);
  if (call.Fails(pd->context)) return nullptr;
  ibv_srq_init_attr_ex full = {};
  full.srq_context = attr->srq_context;
  full.attr = attr->attr;
  full.comp_mask = IBV_SRQ_INIT_ATTR_PD;
  full.pd = pd;
  return MakeSrq(pd->context, full);
}

FAKE_EXPORT int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int mask) {
  Call call(Verb::ibv_modify_srq);
  if (const int error = call.Error(srq->context)) return error;
  if (!Is(Obj(srq), Kind::srq)) return EINVAL;
  FakeSrq* hidden = reinterpret_cast<FakeSrq*>(srq);
  if ((mask & IBV_SRQ_LIMIT) != 0) hidden->attr.srq_limit = attr->srq_limit;
  if ((mask & IBV_SRQ_MAX_WR) != 0) hidden->attr.max_wr = attr->max_wr;
  return 0;
}

FAKE_EXPORT int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attr) {
  Call call(Verb::ibv_query_srq);
  if (const int error = call.Error(srq->context)) return error;
  if (!Is(Obj(srq), Kind::srq)) return EINVAL;
  *attr = reinterpret_cast<FakeSrq*>(srq)->attr;
  return 0;
}

FAKE_EXPORT int ibv_destroy_srq(ibv_srq* srq) {
  Call call(Verb::ibv_destroy_srq);
  const Outcome outcome = Kill(call, Obj(srq), Kind::srq, Way::kKernel);
  if (outcome.error != 0) return outcome.error;
  FakeSrq* hidden = reinterpret_cast<FakeSrq*>(srq);
  const uint32_t reported = Behind(srq->context)->async.Reported(reinterpret_cast<uint64_t>(srq), hidden->async_posted);
  if (!outcome.disassociated) AwaitAcks(call.verb(), &srq->mutex, &srq->cond, &srq->events_completed, reported);
  Bury(&hidden->obj);
  return 0;
}

FAKE_EXPORT ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) {
  Call call(Verb::ibv_create_qp);
  if (call.Fails(pd->context)) return nullptr;
  ibv_qp_init_attr_ex full = {};
  full.qp_context = attr->qp_context;
  full.send_cq = attr->send_cq;
  full.recv_cq = attr->recv_cq;
  full.srq = attr->srq;
  full.cap = attr->cap;
  full.qp_type = attr->qp_type;
  full.sq_sig_all = attr->sq_sig_all;
  full.comp_mask = IBV_QP_INIT_ATTR_PD;
  full.pd = pd;
  return MakeQp(pd->context, full);
}

FAKE_EXPORT ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  Call call(Verb::ibv_qp_to_qp_ex);
  return reinterpret_cast<ibv_qp_ex*>(qp);
}

FAKE_EXPORT int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  Call call(Verb::ibv_modify_qp);
  if (const int error = call.Error(qp->context)) return error;
  if (!Is(Obj(qp), Kind::qp)) return EINVAL;
  if ((mask & IBV_QP_STATE) != 0) qp->state = attr->qp_state;
  reinterpret_cast<FakeQp*>(qp)->attr = *attr;
  return 0;
}

FAKE_EXPORT int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int /*mask*/, ibv_qp_init_attr* init) {
  Call call(Verb::ibv_query_qp);
  if (const int error = call.Error(qp->context)) return error;
  if (!Is(Obj(qp), Kind::qp)) return EINVAL;
  const FakeQp* hidden = reinterpret_cast<FakeQp*>(qp);
  *attr = hidden->attr;
  attr->qp_state = attr->cur_qp_state = qp->state;
  attr->cap = hidden->cap;
  *init = {qp->qp_context, qp->send_cq, qp->recv_cq, qp->srq, hidden->cap, qp->qp_type, hidden->sq_sig_all};
  return 0;
}

FAKE_EXPORT int ibv_query_qp_data_in_order(ibv_qp* /*qp*/, ibv_wr_opcode /*op*/, uint32_t /*flags*/) {
  Call call(Verb::ibv_query_qp_data_in_order);
  return 0;
}

FAKE_EXPORT int ibv_set_ece(ibv_qp* qp, ibv_ece* /*ece*/) {
  Call call(Verb::ibv_set_ece);
  if (const int error = call.Error(qp->context)) return error;
  return Is(Obj(qp), Kind::qp) ? 0 : EINVAL;
}

FAKE_EXPORT int ibv_query_ece(ibv_qp* qp, ibv_ece* ece) {
  Call call(Verb::ibv_query_ece);
  if (const int error = call.Error(qp->context)) return error;
  *ece = {};
  return Is(Obj(qp), Kind::qp) ? 0 : EINVAL;
}

FAKE_EXPORT int ibv_destroy_qp(ibv_qp* qp) {
  Call call(Verb::ibv_destroy_qp);
  const Outcome outcome = Kill(call, Obj(qp), Kind::qp, Way::kKernel);
  if (outcome.error != 0) return outcome.error;
  FakeQp* hidden = reinterpret_cast<FakeQp*>(qp);
  const uint32_t reported = Behind(qp->context)->async.Reported(reinterpret_cast<uint64_t>(qp), hidden->async_posted);
  if (!outcome.disassociated) AwaitAcks(call.verb(), &qp->mutex, &qp->cond, &qp->events_completed, reported);
  pthread_mutex_lock(&g_mcast_lock);
  while (hidden->groups != nullptr) LeaveGroup(hidden, &hidden->groups);
  pthread_mutex_unlock(&g_mcast_lock);
  Bury(&hidden->obj);
  return 0;
}

FAKE_EXPORT int ibv_attach_mcast(ibv_qp* qp, const union ibv_gid* gid, uint16_t lid) {
  Call call(Verb::ibv_attach_mcast);
  if (const int error = call.Error(qp->context)) return error;
  FakeQp* hidden = reinterpret_cast<FakeQp*>(qp);
  if (!Is(&hidden->obj, Kind::qp) || (qp->qp_type != IBV_QPT_UD && qp->qp_type != IBV_QPT_RAW_PACKET)) return EINVAL;
  auto* group = static_cast<McastGroup*>(malloc(sizeof(McastGroup)));
  if (group == nullptr) return ENOMEM;
  pthread_mutex_lock(&g_mcast_lock);
  McastGroup** at = FindGroup(hidden, *gid, lid);
  if (*at == nullptr) {  // a second attach to the same group is allowed and changes nothing
    *group = {*gid, lid, nullptr};
    *at = group;
    Ref(&hidden->obj);
    group = nullptr;
  }
  pthread_mutex_unlock(&g_mcast_lock);
  free(group);
  return 0;
}

FAKE_EXPORT int ibv_detach_mcast(ibv_qp* qp, const union ibv_gid* gid, uint16_t lid) {
  Call call(Verb::ibv_detach_mcast);
  // After a loss the kernel returns EIO here, and the library forgives it as it does for a destroy.
  if (const int error = call.Error(qp->context)) {
    return error == EIO && verbs_allow_disassociate_destroy ? 0 : error;
  }
  FakeQp* hidden = reinterpret_cast<FakeQp*>(qp);
  if (!Is(&hidden->obj, Kind::qp)) return EINVAL;
  pthread_mutex_lock(&g_mcast_lock);
  McastGroup** at = FindGroup(hidden, *gid, lid);
  const bool found = *at != nullptr;
  if (found) LeaveGroup(hidden, at);
  pthread_mutex_unlock(&g_mcast_lock);
  return found ? 0 : EINVAL;
}

FAKE_EXPORT ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* /*attr*/) {
  Call call(Verb::ibv_create_ah);
  if (call.Fails(pd->context)) return nullptr;
  if (!IsPd(pd)) return Unknown();
  FakeAh* ah = New<FakeAh>(Kind::ah, pd->context);
  if (ah == nullptr) return nullptr;
  ah->pub.context = pd->context;
  ah->pub.pd = pd;
  ah->pub.handle = NextHandle();
  HoldPd(&ah->obj, pd, false);
  return &ah->pub;
}

FAKE_EXPORT int ibv_init_ah_from_wc(ibv_context* /*context*/, uint8_t port, ibv_wc* wc, ibv_grh* /*grh*/,
                                    ibv_ah_attr* attr) {
  Call call(Verb::ibv_init_ah_from_wc);
  *attr = {};
  attr->dlid = wc->slid;
  attr->sl = wc->sl;
  attr->port_num = port;
  return call.Fails() ? -1 : 0;
}

FAKE_EXPORT ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, uint8_t port) {
  Call call(Verb::ibv_create_ah_from_wc);
  ibv_ah_attr attr;
  if (call.Fails() || ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr) != 0) return nullptr;
  return ibv_create_ah(pd, &attr);
}

FAKE_EXPORT int ibv_destroy_ah(ibv_ah* ah) {
  Call call(Verb::ibv_destroy_ah);
  return Destroy(call, Obj(ah), Kind::ah, Way::kKernel);
}
