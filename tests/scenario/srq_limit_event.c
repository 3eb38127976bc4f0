// The SRQ's limit event, made by the device itself: acked, it is silent; held by the thread that destroys, it is said, and
// the destroy waits as it would have.
// RUN: on=device args="acked" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="held" options="hang_timeout=1" exit=23
// EXPECT: ERROR self-deadlock: ibv_destroy_srq of srq #{{.*}} will block forever: 1 asynchronous event received, 0 acknowledged
// EXPECT: WARNING blocked-destroy: ibv_destroy_srq of srq #
// EXPECT: WARNING open-at-exit
#include "event_scenario.h"

static struct ibv_context* context;
static struct ibv_srq* srq;
static int held;

static void* take_and_destroy(void* unused) {
  struct ibv_async_event event;
  MUST(ibv_get_async_event(context, &event) == 0 && event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED);
  MUST(event.element.srq == srq);
  if (!held) ibv_ack_async_event(&event);
  MUST(ibv_destroy_srq(srq) == 0);
  return unused;
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  held = strcmp(argv[1], "held") == 0;
  context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 16, NULL, NULL, 0);
  struct ibv_srq_init_attr shared = srq_attr();
  srq = ibv_create_srq(pd, &shared);
  struct ibv_qp_init_attr sender_attr = qp_attr(IBV_QPT_RC, cq, NULL), receiver_attr = qp_attr(IBV_QPT_RC, cq, srq);
  struct ibv_qp* sender = ibv_create_qp(pd, &sender_attr);
  struct ibv_qp* receiver = ibv_create_qp(pd, &receiver_attr);
  MUST(sender != NULL && receiver != NULL);
  MUST(to_init(sender) == 0 && to_init(receiver) == 0);
  MUST(to_rts(sender, context, receiver->qp_num) == 0 && to_rts(receiver, context, sender->qp_num) == 0);
  static char buffer[4096];
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
  MUST(mr != NULL);
  struct ibv_sge piece = {(uintptr_t)buffer, 64, mr->lkey};
  for (int i = 0; i < 3; ++i) {
    struct ibv_recv_wr work = {.sg_list = &piece, .num_sge = 1};
    struct ibv_recv_wr* bad = NULL;
    MUST(ibv_post_srq_recv(srq, &work, &bad) == 0);
  }
  struct ibv_srq_attr limit = {.srq_limit = 3};
  MUST(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT) == 0);
  struct ibv_send_wr send = {.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
  struct ibv_send_wr* bad = NULL;
  MUST(ibv_post_send(sender, &send, &bad) == 0);
  struct ibv_wc done;
  for (int polled = 0; polled < 2;) {
    const int n = ibv_poll_cq(cq, 1, &done);
    MUST(n >= 0 && (n == 0 || done.status == IBV_WC_SUCCESS));
    polled += n;
  }
  MUST(ibv_destroy_qp(sender) == 0 && ibv_destroy_qp(receiver) == 0);
  const pthread_t thread = start(take_and_destroy, NULL);
  if (held) {
    await_in_report("blocked-destroy");
    exit(0);
  }
  join(thread);
  MUST(ibv_dereg_mr(mr) == 0);
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
