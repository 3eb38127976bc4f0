// Completion queues. Nothing ever completes: polling finds them empty.
#include "fake_internal.h"
#include "fake_slots.h"

namespace fake {
namespace {

void FillPolling(ibv_cq_ex* cq) {
  cq->start_poll = [](ibv_cq_ex*, ibv_poll_cq_attr*) -> int { return ENOENT; };
  cq->next_poll = [](ibv_cq_ex*) -> int { return ENOENT; };
  cq->end_poll = [](ibv_cq_ex*) {};
  cq->read_opcode = [](ibv_cq_ex*) { return IBV_WC_SEND; };
  cq->read_vendor_err = [](ibv_cq_ex*) -> uint32_t { return 0; };
  cq->read_byte_len = [](ibv_cq_ex*) -> uint32_t { return 0; };
  cq->read_imm_data = [](ibv_cq_ex*) -> __be32 { return 0; };
  cq->read_qp_num = [](ibv_cq_ex*) -> uint32_t { return 0; };
  cq->read_src_qp = [](ibv_cq_ex*) -> uint32_t { return 0; };
  cq->read_wc_flags = [](ibv_cq_ex*) -> unsigned { return 0; };
  cq->read_slid = [](ibv_cq_ex*) -> uint32_t { return 0; };
  cq->read_sl = [](ibv_cq_ex*) -> uint8_t { return 0; };
  cq->read_dlid_path_bits = [](ibv_cq_ex*) -> uint8_t { return 0; };
  cq->read_completion_ts = [](ibv_cq_ex*) -> uint64_t { return 0; };
  cq->read_cvlan = [](ibv_cq_ex*) -> uint16_t { return 0; };
  cq->read_flow_tag = [](ibv_cq_ex*) -> uint32_t { return 0; };
  cq->read_tm_info = [](ibv_cq_ex*, ibv_wc_tm_info* info) { *info = {}; };
  cq->read_completion_wallclock_ns = [](ibv_cq_ex*) -> uint64_t { return 0; };
}

}  // namespace

ibv_cq_ex* MakeCq(ibv_context* context, uint32_t cqe, void* cq_context, ibv_comp_channel* channel, uint32_t vector,
                  ibv_pd* parent_domain) {
  if (cqe == 0 || vector >= static_cast<uint32_t>(context->num_comp_vectors)) return Unknown();
  if (channel != nullptr && !Is(Obj(channel), Kind::comp_channel)) return Unknown();
  if (parent_domain != nullptr && !Is(Obj(parent_domain), Kind::parent_domain)) return Unknown();
  FakeCq* cq = New<FakeCq>(Kind::cq, context);
  if (cq == nullptr) return nullptr;
  cq->pub.context = context;
  cq->pub.channel = channel;
  cq->pub.cq_context = cq_context;
  cq->pub.handle = NextHandle();
  cq->pub.cqe = static_cast<int>(cqe);
  pthread_mutex_init(&cq->pub.mutex, nullptr);
  pthread_cond_init(&cq->pub.cond, nullptr);
  FillPolling(&cq->pub);
  if (parent_domain != nullptr) HoldPd(&cq->obj, parent_domain, true);
  if (channel != nullptr) {
    pthread_mutex_lock(&context->mutex);
    ++channel->refcnt;
    pthread_mutex_unlock(&context->mutex);
  }
  return &cq->pub;
}

ibv_cq_ex* SlotCreateCqEx(ibv_context* context, ibv_cq_init_attr_ex* attr) {
  Call call(Verb::ibv_create_cq_ex);
  if (call.Fails(context)) return nullptr;
  const bool has_domain = (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0;
  return MakeCq(context, attr->cqe, attr->cq_context, attr->channel, attr->comp_vector,
                has_domain ? attr->parent_domain : nullptr);
}

int SlotModifyCq(ibv_cq* cq, ibv_modify_cq_attr* /*attr*/) {
  Call call(Verb::ibv_modify_cq);
  if (const int error = call.Error(cq->context)) return error;
  return Is(Obj(cq), Kind::cq) ? 0 : EINVAL;
}

int SlotPollCq(ibv_cq* /*cq*/, int /*entries*/, ibv_wc* /*wc*/) {
  Call call(Verb::ibv_poll_cq);
  return call.Error() != 0 ? -1 : 0;
}

int SlotReqNotifyCq(ibv_cq* /*cq*/, int /*solicited_only*/) {
  Call call(Verb::ibv_req_notify_cq);
  return call.Error();
}

}  // namespace fake

using namespace fake;  // NOLINT

FAKE_EXPORT ibv_cq* ibv_create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel,
                                  int vector) {
  Call call(Verb::ibv_create_cq);
  if (call.Fails(context)) return nullptr;
  if (cqe <= 0 || vector < 0) return Unknown();
  ibv_cq_ex* cq =
      MakeCq(context, static_cast<uint32_t>(cqe), cq_context, channel, static_cast<uint32_t>(vector), nullptr);
  return reinterpret_cast<ibv_cq*>(cq);
}

FAKE_EXPORT int ibv_resize_cq(ibv_cq* cq, int cqe) {
  Call call(Verb::ibv_resize_cq);
  if (const int error = call.Error(cq->context)) return error;
  if (!Is(Obj(cq), Kind::cq) || cqe <= 0) return EINVAL;
  cq->cqe = cqe;
  return 0;
}

FAKE_EXPORT int ibv_destroy_cq(ibv_cq* cq) {
  Call call(Verb::ibv_destroy_cq);
  const Outcome outcome = Kill(call, Obj(cq), Kind::cq, Way::kKernel);
  if (outcome.error != 0) return outcome.error;
  FakeCq* hidden = reinterpret_cast<FakeCq*>(cq);
  ibv_context* context = cq->context;
  ibv_comp_channel* channel = cq->channel;
  // Also when disassociated: the kernel never hands out an event of a CQ that is gone.
  const uint32_t comp = channel == nullptr ? 0
                                           : reinterpret_cast<FakeChannel*>(channel)->stream.Reported(
                                                 reinterpret_cast<uint64_t>(cq), hidden->comp_posted);
  const uint32_t async = Behind(context)->async.Reported(reinterpret_cast<uint64_t>(cq), hidden->async_posted);
  if (!outcome.disassociated) {
    AwaitAcks(call.verb(), &cq->mutex, &cq->cond, &cq->comp_events_completed, comp, &cq->async_events_completed, async);
  }
  Bury(&hidden->obj);
  if (channel != nullptr) {
    pthread_mutex_lock(&context->mutex);
    --channel->refcnt;
    pthread_mutex_unlock(&context->mutex);
  }
  return 0;
}
