// An event's QP pointer is handed on after the ack; the QP is destroyed, then the pointer is used (B55).
// RUN: on=fake env="FAKE_KEEP=1" exit=23
// EXPECT: ERROR use-after-destroy: ibv_query_qp called with qp #{{.*}}, which was destroyed earlier
// EXPECT: #0 main use_after_acked_event.c:@use@ (
#include "event_scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);
  MUST(qp != NULL && fake_post_async_event(context, IBV_EVENT_COMM_EST, qp) == 0);
  struct ibv_async_event event;
  MUST(ibv_get_async_event(context, &event) == 0);
  struct ibv_qp* handed_on = event.element.qp;
  ibv_ack_async_event(&event);
  MUST(ibv_destroy_qp(qp) == 0);
  struct ibv_qp_attr queried;
  struct ibv_qp_init_attr init;
  ibv_query_qp(handed_on, &queried, IBV_QP_STATE, &init);  // @use
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
