// An MR is left on the id's PD: librdmacm's ibv_dealloc_pd is refused and librdmacm ignores that (V5). Nobody else can
// see it, so it is reported although the call is a library's.
// RUN: on=device args="left" exit=23
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY: 1 mr still uses it
// EXPECT: child mr #
// EXPECT: #1 rdma_destroy_id (librdmacm.so
// EXPECT: #2 main cm_pd_busy_inside_librdmacm.c:@destroy@ (
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY and no later try succeeded before the process ended
// EXPECT: child mr #{{.*}} at main cm_pd_busy_inside_librdmacm.c:@mr@
// EXPECT-JSON: findings[rule=busy-destroy].related[role=child].object.kind == mr
// EXPECT-ALSO: WARNING open-at-exit: 1 object is still open when the process ends: 1 mr
//
// Releasing the MR afterwards is too late: nobody tries the PD again.
// RUN: on=device args="late" exit=23
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY: 1 mr still uses it
// EXPECT: child mr #{{.*}} at main cm_pd_busy_inside_librdmacm.c:@mr@
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY and no later try succeeded before the process ended
// EXPECT: what was seen using it has been destroyed since
//
// RUN: on=device args="clean" options="strict=1" exit=0
// EXPECT-NOTHING
// LINK: rdmacm
#include "cm_scenario.h"

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct rdma_event_channel* channel = rdma_create_event_channel();
  struct rdma_cm_id* id = NULL;
  MUST(channel != NULL && rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
  resolve(id, channel, "10.77.0.1");
  static char buffer[64];
  struct ibv_mr* mr = ibv_reg_mr(id->pd, buffer, sizeof(buffer), 0);  // @mr
  MUST(mr != NULL);
  if (strcmp(argv[1], "clean") == 0) MUST(ibv_dereg_mr(mr) == 0);
  MUST(rdma_destroy_id(id) == 0);  // @destroy
  rdma_destroy_event_channel(channel);
  if (strcmp(argv[1], "late") == 0) MUST(ibv_dereg_mr(mr) == 0);
  return 0;
}
