// The device goes while objects are open (B50, B51): a class of their own, once a device, never also as leaks.
// Old kernels answer EIO to each destroy; without the variable the user memory stays, with it the destroy counts.
// RUN: on=fake env="FAKE_OLD_KERNEL=1" args="destroy" exit=0
// EXPECT: WARNING alive-after-device-loss: device fake0 was removed: ibv_destroy_qp returned EIO, and the object's user memory stays allocated; with RDMAV_ALLOW_DISASSOC_DESTROY=1 such a destroy counts as done
// EXPECT-NOT: leak-at-close
// EXPECT-JSON: findings.length == 1
//
// RUN: on=fake env="FAKE_OLD_KERNEL=1 RDMAV_ALLOW_DISASSOC_DESTROY=1" args="destroy" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake args="destroy" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake args="leave" exit=0
// EXPECT: WARNING alive-after-device-loss: device fake0 was removed with 4 objects (1 pd, 1 cq, 1 srq, 1 qp) still open
// EXPECT: child pd #
// EXPECT: child qp #
// EXPECT-NOT: leak-at-close
// EXPECT-JSON: findings.length == 1
//
// RUN: on=fake args="exit" exit=0
// EXPECT: WARNING alive-after-device-loss: device fake0 was removed with 5 objects
// EXPECT-NOT: open-at-exit
#include "event_scenario.h"

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_srq_init_attr shared = srq_attr();
  struct ibv_srq* srq = ibv_create_srq(pd, &shared);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, srq);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);
  MUST(qp != NULL && fake_device_fatal(context) == 0);
  struct ibv_async_event event;
  MUST(ibv_get_async_event(context, &event) == 0 && event.event_type == IBV_EVENT_DEVICE_FATAL);
  ibv_ack_async_event(&event);
  if (strcmp(argv[1], "exit") == 0) return 0;
  if (strcmp(argv[1], "destroy") == 0) {
    ibv_destroy_qp(qp);
    ibv_destroy_srq(srq);
    ibv_destroy_cq(cq);
    ibv_dealloc_pd(pd);
  }
  MUST(ibv_close_device(context) == 0);
  return 0;
}
