// Work queues and their tables, flows, flow actions, counters.
#include "fake_internal.h"
#include "fake_slots.h"

namespace fake {
namespace {

// A flow holds the actions and counters that its specs name. Specs follow the attributes without padding, so they are
// copied before they are looked at.
bool HoldSpecs(Object* flow, const ibv_flow_attr& attr) {
  const char* at = reinterpret_cast<const char*>(&attr + 1);
  for (int i = 0; i < attr.num_of_specs; ++i) {
    struct {
      ibv_flow_spec_type type;
      uint16_t size;
    } header;
    memcpy(&header, at, sizeof header);
    Object* used = nullptr;
    if (header.type == IBV_FLOW_SPEC_ACTION_HANDLE) {
      ibv_flow_spec_action_handle spec;
      memcpy(&spec, at, sizeof spec);
      used = Obj(spec.action);
      if (!Is(used, Kind::flow_action)) return false;
    } else if (header.type == IBV_FLOW_SPEC_ACTION_COUNT) {
      ibv_flow_spec_counter_action spec;
      memcpy(&spec, at, sizeof spec);
      used = Obj(spec.counters);
      if (!Is(used, Kind::counters)) return false;
    }
    if (used != nullptr) Hold(flow, used);
    at += header.size;
  }
  return true;
}

ibv_flow* CreateFlow(const Call& call, ibv_qp* qp, const ibv_flow_attr& attr) {
  if (call.Fails(qp->context)) return nullptr;
  if (!Is(Obj(qp), Kind::qp)) return Unknown();
  ibv_flow* flow = MakeFlow(qp->context);
  if (flow != nullptr) Hold(Obj(flow), Obj(qp));
  if (flow != nullptr && !HoldSpecs(Obj(flow), attr)) {
    DestroyAnyway(call, Obj(flow), Kind::flow);
    return Unknown();
  }
  return flow;
}

int DestroyFlow(const Call& call, ibv_flow* flow) { return Destroy(call, Obj(flow), Kind::flow, Way::kKernel); }

}  // namespace

ibv_wq* MakeWq(ibv_context* context, const ibv_wq_init_attr& attr) {
  if (!IsPd(attr.pd) || !Is(Obj(attr.cq), Kind::cq)) return Unknown();
  FakeWq* wq = New<FakeWq>(Kind::wq, context);
  if (wq == nullptr) return nullptr;
  wq->pub.context = context;
  wq->pub.pd = attr.pd;
  wq->pub.cq = attr.cq;
  wq->pub.handle = NextHandle();
  wq->pub.wq_num = 0x1000 + wq->pub.handle;
  wq->pub.state = IBV_WQS_RESET;
  wq->pub.wq_type = attr.wq_type;
  wq->pub.post_recv = [](ibv_wq*, ibv_recv_wr*, ibv_recv_wr**) { return 0; };
  HoldPd(&wq->obj, attr.pd, false);
  Hold(&wq->obj, Obj(attr.cq));
  return &wq->pub;
}

ibv_flow* MakeFlow(ibv_context* context) {
  FakeFlow* flow = New<FakeFlow>(Kind::flow, context);
  if (flow == nullptr) return nullptr;
  flow->pub.context = context;
  flow->pub.handle = NextHandle();
  return &flow->pub;
}

ibv_flow_action* MakeFlowAction(ibv_context* context) {
  FakeFlowAction* action = New<FakeFlowAction>(Kind::flow_action, context);
  if (action == nullptr) return nullptr;
  action->pub.context = context;
  return &action->pub;
}

// The inline ibv_create_wq() sets context, mutex and condition after we return: setting them here would hide a program
// that reaches the slot without it.
ibv_wq* SlotCreateWq(ibv_context* context, ibv_wq_init_attr* attr) {
  Call call(Verb::ibv_create_wq);
  return call.Fails(context) ? nullptr : MakeWq(context, *attr);
}

int SlotModifyWq(ibv_wq* wq, ibv_wq_attr* attr) {
  Call call(Verb::ibv_modify_wq);
  if (const int error = call.Error(wq->context)) return error;
  if (!Is(Obj(wq), Kind::wq)) return EINVAL;
  if ((attr->attr_mask & IBV_WQ_ATTR_STATE) != 0) wq->state = attr->wq_state;
  return 0;
}

int SlotDestroyWq(ibv_wq* wq) {
  Call call(Verb::ibv_destroy_wq);
  const Outcome outcome = Kill(call, Obj(wq), Kind::wq, Way::kKernel);
  if (outcome.error != 0) return outcome.error;
  FakeWq* hidden = reinterpret_cast<FakeWq*>(wq);
  const uint32_t reported = Behind(wq->context)->async.Reported(reinterpret_cast<uint64_t>(wq), hidden->async_posted);
  if (!outcome.disassociated) AwaitAcks(call.verb(), &wq->mutex, &wq->cond, &wq->events_completed, reported);
  Bury(&hidden->obj);
  return 0;
}

ibv_rwq_ind_table* SlotCreateRwqIndTable(ibv_context* context, ibv_rwq_ind_table_init_attr* attr) {
  Call call(Verb::ibv_create_rwq_ind_table);
  if (call.Fails(context)) return nullptr;
  const uint32_t count = 1U << attr->log_ind_tbl_size;
  for (uint32_t i = 0; i < count; ++i) {
    if (!Is(Obj(attr->ind_tbl[i]), Kind::wq)) return Unknown();
  }
  FakeRwqTable* table = New<FakeRwqTable>(Kind::rwq_ind_table, context);
  if (table == nullptr) return nullptr;
  table->pub.context = context;
  table->pub.ind_tbl_handle = static_cast<int>(NextHandle());
  table->pub.ind_tbl_num = 0x1000 + table->pub.ind_tbl_handle;
  for (uint32_t i = 0; i < count; ++i) Hold(&table->obj, Obj(attr->ind_tbl[i]));
  return &table->pub;
}

int SlotDestroyRwqIndTable(ibv_rwq_ind_table* table) {
  Call call(Verb::ibv_destroy_rwq_ind_table);
  return Destroy(call, Obj(table), Kind::rwq_ind_table, Way::kKernel);
}

ibv_flow* SlotCreateFlow(ibv_qp* qp, ibv_flow_attr* attr) {
  Call call(Verb::ibv_create_flow);
  return CreateFlow(call, qp, *attr);
}

int SlotDestroyFlow(ibv_flow* flow) {
  Call call(Verb::ibv_destroy_flow);
  return DestroyFlow(call, flow);
}

// Programs built with libibverbs 1.1.8 come through these.
ibv_flow* SlotOldCreateFlow(ibv_qp* qp, ibv_flow_attr* attr) {
  Call call(Verb::ABI_placeholder1);
  return CreateFlow(call, qp, *attr);
}

int SlotOldDestroyFlow(ibv_flow* flow) {
  Call call(Verb::ABI_placeholder2);
  return DestroyFlow(call, flow);
}

ibv_flow_action* SlotCreateFlowActionEsp(ibv_context* context, ibv_flow_action_esp_attr* /*attr*/) {
  Call call(Verb::ibv_create_flow_action_esp);
  return call.Fails(context) ? nullptr : MakeFlowAction(context);
}

int SlotModifyFlowActionEsp(ibv_flow_action* action, ibv_flow_action_esp_attr* /*attr*/) {
  Call call(Verb::ibv_modify_flow_action_esp);
  if (const int error = call.Error(action->context)) return error;
  return Is(Obj(action), Kind::flow_action) ? 0 : EINVAL;
}

int SlotDestroyFlowAction(ibv_flow_action* action) {
  Call call(Verb::ibv_destroy_flow_action);
  return Destroy(call, Obj(action), Kind::flow_action, Way::kKernel);
}

ibv_counters* SlotCreateCounters(ibv_context* context, ibv_counters_init_attr* /*attr*/) {
  Call call(Verb::ibv_create_counters);
  if (call.Fails(context)) return nullptr;
  FakeCounters* counters = New<FakeCounters>(Kind::counters, context);
  if (counters == nullptr) return nullptr;
  counters->pub.context = context;
  return &counters->pub;
}

int SlotDestroyCounters(ibv_counters* counters) {
  Call call(Verb::ibv_destroy_counters);
  return Destroy(call, Obj(counters), Kind::counters, Way::kKernel);
}

int SlotAttachCounters(ibv_counters* counters, ibv_counter_attach_attr* /*attr*/, ibv_flow* flow) {
  Call call(Verb::ibv_attach_counters_point_flow);
  if (const int error = call.Error(counters->context)) return error;
  if (!Is(Obj(counters), Kind::counters) || (flow != nullptr && !Is(Obj(flow), Kind::flow))) return EINVAL;
  return Obj(counters)->refs.load() != 1 ? EBUSY : 0;  // points cannot be added once a flow counts
}

int SlotReadCounters(ibv_counters* counters, uint64_t* values, uint32_t count, uint32_t /*flags*/) {
  Call call(Verb::ibv_read_counters);
  if (const int error = call.Error(counters->context)) return error;
  memset(values, 0, count * sizeof *values);
  return Is(Obj(counters), Kind::counters) ? 0 : EINVAL;
}

}  // namespace fake
