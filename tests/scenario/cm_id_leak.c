// The event channel is destroyed while an id, with a QP, still uses it (B11). The QP went to the program through librdmacm: it is the
// id that is reported.
// RUN: on=device args="leak" exit=23
// EXPECT: ERROR cm-id-leak: rdma_destroy_event_channel while 1 id still uses it
// EXPECT: 1 cm_id #
// EXPECT: #0 main cm_id_leak.c:@id@ (
// EXPECT-JSON: findings[0].object.kind == cm_id
//
// RUN: on=device args="clean" options="strict=1" exit=0
// EXPECT-NOTHING
// LINK: rdmacm
#include "cm_scenario.h"

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct rdma_event_channel* channel = rdma_create_event_channel();
  struct rdma_cm_id* id = NULL;
  MUST(channel != NULL && rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);  // @id
  resolve(id, channel, "10.77.0.1");
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, NULL, NULL);
  MUST(rdma_create_qp(id, NULL, &attr) == 0);
  if (strcmp(argv[1], "clean") == 0) {
    rdma_destroy_qp(id);
    MUST(rdma_destroy_id(id) == 0);
  }
  rdma_destroy_event_channel(channel);
  return 0;
}
