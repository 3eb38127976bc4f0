// ibv_destroy_cq of the real library waits for an event that is not acknowledged, and the report shows where. Then the event is
// acknowledged, and the destroy returns as if nobody had asked.
// RUN: on=device options="hang_timeout=1:hang_stacks=1" args="late" exit=0
// EXPECT: WARNING blocked-destroy: ibv_destroy_cq of cq #{{.*}} 1 event received, 0 acknowledged; it waits for the rest
// EXPECT: called here, thread
// EXPECT: #0 destroy hang_stacks_on_device.c:@destroy@ (
// EXPECT: the thread stands at:
// EXPECT: {{(ibv_destroy_cq|\(libibverbs\.so\.1)}}
// EXPECT: destroy hang_stacks_on_device.c:@destroy@ (
// EXPECT-JSON: findings[0].stacks[1].role == other-thread
//
// RUN: on=device options="hang_timeout=1:hang_stacks=1" args="at once" exit=0
// EXPECT-NOTHING
#include "event_scenario.h"

static void* destroy(void* cq) {
  MUST(ibv_destroy_cq((struct ibv_cq*)cq) == 0);  // @destroy
  return NULL;
}

int main(int argc, char** argv) {
  MUST(argc >= 2);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_comp_channel* channel = ibv_create_comp_channel(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, channel, 0);
  struct ibv_qp_init_attr init = qp_attr(IBV_QPT_UD, cq, NULL);
  struct ibv_qp* qp = ibv_create_qp(pd, &init);
  MUST(qp != NULL && to_init(qp) == 0 && ibv_req_notify_cq(cq, 0) == 0);
  struct ibv_qp_attr attr;
  memset(&attr, 0, sizeof(attr));
  attr.qp_state = IBV_QPS_RTR;
  MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0);
  attr.qp_state = IBV_QPS_RTS;
  MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0);
  struct ibv_ah_attr to = ah_attr(context);
  struct ibv_ah* ah = ibv_create_ah(pd, &to);
  MUST(ah != NULL);
  // An empty message to itself: its completion is the event.
  struct ibv_send_wr send, *bad = NULL;
  memset(&send, 0, sizeof(send));
  send.opcode = IBV_WR_SEND;
  send.send_flags = IBV_SEND_SIGNALED;
  send.wr.ud.ah = ah;
  send.wr.ud.remote_qpn = qp->qp_num;
  send.wr.ud.remote_qkey = 0x1111;
  MUST(ibv_post_send(qp, &send, &bad) == 0);
  take(channel);
  MUST(ibv_destroy_ah(ah) == 0 && ibv_destroy_qp(qp) == 0);
  const int late = strcmp(argv[1], "late") == 0;
  if (!late) ibv_ack_cq_events(cq, 1);
  const pthread_t thread = start(destroy, cq);
  if (late) {
    await_in_report("blocked-destroy");
    ibv_ack_cq_events(cq, 1);
  }
  join(thread);
  MUST(ibv_destroy_comp_channel(channel) == 0 && ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}
