// A step of an id fails, and the id and its channel are forgotten (B61): what failed last stands under the id. The bind
// is to an address of an interface without an RDMA device. With both released, a failure is no finding.
// RUN: on=device args="bind_addr left" exit=0
// EXPECT: WARNING cm-channel-leak:
// EXPECT: WARNING open-at-exit: 1 object is still open when the process ends: 1 cm_id
// EXPECT: last failed call: rdma_bind_addr returned ENODEV
// EXPECT-JSON: findings[rule=open-at-exit].object.last_failed_call.verb == rdma_bind_addr
// EXPECT-JSON: findings[rule=open-at-exit].object.last_failed_call.result == 19
//
// RUN: on=device args="bind_addr clean" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="resolve_addr left" exit=0
// EXPECT: WARNING cm-channel-leak:
// EXPECT: WARNING open-at-exit
// EXPECT: last failed call: rdma_resolve_addr returned E
//
// RUN: on=device args="resolve_addr clean" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="resolve_route left" exit=0
// EXPECT: WARNING cm-channel-leak:
// EXPECT: WARNING open-at-exit
// EXPECT: last failed call: rdma_resolve_route returned EINVAL
//
// RUN: on=device args="resolve_route clean" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="listen left" exit=0
// EXPECT: WARNING cm-channel-leak:
// EXPECT: WARNING open-at-exit
// EXPECT: last failed call: rdma_listen returned EINVAL
//
// RUN: on=device args="listen clean" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="connect left" exit=0
// EXPECT: WARNING cm-channel-leak:
// EXPECT: WARNING open-at-exit
// EXPECT: last failed call: rdma_connect returned EINVAL
//
// RUN: on=device args="connect clean" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="accept left" exit=0
// EXPECT: WARNING cm-channel-leak:
// EXPECT: WARNING open-at-exit
// EXPECT: last failed call: rdma_accept returned EINVAL
//
// RUN: on=device args="accept clean" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="reject left" exit=0
// EXPECT: WARNING cm-channel-leak:
// EXPECT: WARNING open-at-exit
// EXPECT: last failed call: rdma_reject returned EINVAL
//
// RUN: on=device args="reject clean" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="disconnect left" exit=0
// EXPECT: WARNING cm-channel-leak:
// EXPECT: WARNING open-at-exit
// EXPECT: last failed call: rdma_disconnect returned EINVAL
//
// RUN: on=device args="disconnect clean" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="establish left" exit=0
// EXPECT: WARNING cm-channel-leak:
// EXPECT: WARNING open-at-exit
// EXPECT: last failed call: rdma_establish returned E
//
// RUN: on=device args="establish clean" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="create_qp left" exit=0
// EXPECT: WARNING cm-channel-leak:
// EXPECT: WARNING open-at-exit
// EXPECT: last failed call: rdma_create_qp returned EINVAL
//
// RUN: on=device args="create_qp clean" options="strict=1" exit=0
// EXPECT-NOTHING
// LINK: rdmacm
#include "cm_scenario.h"

static void fail(const char* step, struct rdma_cm_id* id) {
  // With a device; some of librdmacm's calls look at it before they ask the kernel.
  struct sockaddr_in own = address("10.77.0.1", 7471);
  const int bare = strcmp(step, "bind_addr") == 0 || strcmp(step, "resolve_addr") == 0;
  if (!bare) MUST(rdma_bind_addr(id, (struct sockaddr*)&own) == 0);
  if (strcmp(step, "bind_addr") == 0) {
    MUST(system("ip addr replace 192.0.2.7/32 dev lo") == 0);
    struct sockaddr_in here = address("192.0.2.7", 7471);
    MUST(rdma_bind_addr(id, (struct sockaddr*)&here) == -1 && errno == ENODEV);
    MUST(system("ip addr del 192.0.2.7/32 dev lo") == 0);
  } else if (strcmp(step, "resolve_addr") == 0) {
    struct sockaddr_in nowhere = address("203.0.113.7", 7471);
    MUST(rdma_resolve_addr(id, NULL, (struct sockaddr*)&nowhere, 100) == -1);
  } else if (strcmp(step, "resolve_route") == 0) {
    MUST(rdma_resolve_route(id, 100) == -1);
  } else if (strcmp(step, "listen") == 0) {
    MUST(rdma_listen(id, 1) == 0 && rdma_listen(id, 1) == -1);
  } else if (strcmp(step, "connect") == 0) {
    struct rdma_conn_param with;
    memset(&with, 0, sizeof(with));
    MUST(rdma_connect(id, &with) == -1);
  } else if (strcmp(step, "accept") == 0) {
    struct rdma_conn_param with;
    memset(&with, 0, sizeof(with));
    MUST(rdma_accept(id, &with) == -1);
  } else if (strcmp(step, "reject") == 0) {
    MUST(rdma_reject(id, NULL, 0) == -1);
  } else if (strcmp(step, "disconnect") == 0) {
    MUST(rdma_disconnect(id) == -1);
  } else if (strcmp(step, "establish") == 0) {
    MUST(rdma_establish(id) == -1);
  } else {
    struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, NULL, NULL);
    attr.cap.max_send_sge = 10000;  // more than any device has
    MUST(strcmp(step, "create_qp") == 0 && rdma_create_qp(id, NULL, &attr) == -1);
  }
}

int main(int argc, char** argv) {
  MUST(argc == 3);
  struct rdma_event_channel* channel = rdma_create_event_channel();
  struct rdma_cm_id* id = NULL;
  MUST(channel != NULL && rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
  fail(argv[1], id);
  if (strcmp(argv[2], "clean") == 0) {
    MUST(rdma_destroy_id(id) == 0);
    rdma_destroy_event_channel(channel);
  }
  return 0;
}
