// What librdmacm makes because the program asked for it (rdma_create_qp, rdma_create_qp_ex, rdma_create_srq,
// rdma_create_ep) is counted as the program's, whoever called ibv_create_qp: created less destroyed is alive, also where
// some of it is left.
// RUN: on=device args="qp clean" options="strict=1:snapshot_signal=10" exit=0
// EXPECT: TOLD snapshot written to {{.*}}.snapshot-1.json
// EXPECT-JSON: summary.kinds.qp.created == 3
// EXPECT-JSON: summary.kinds.qp.alive == 0
// EXPECT-JSON: summary.kinds.cq.created >= 3
// EXPECT-JSON: summary.kinds.cq.alive == 0
//
// RUN: on=device args="qp left" exit=23
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: ERROR cm-qp-left
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #
// EXPECT-JSON: summary.kinds.qp.created == 3
// EXPECT-JSON: summary.kinds.qp.destroyed == 2
// EXPECT-JSON: summary.kinds.qp.alive == 1
//
// RUN: on=device args="srq left" exit=23
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: ERROR cm-qp-left
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #
// EXPECT-JSON: summary.kinds.srq.created == 3
// EXPECT-JSON: summary.kinds.srq.alive == 1
//
// RUN: on=device args="ep left" exit=0
// EXPECT: WARNING open-at-exit
// EXPECT-JSON: summary.kinds.cm_id.created == 3
// EXPECT-JSON: summary.kinds.cm_id.alive == 1
// EXPECT-JSON: summary.kinds.qp.created == 3
// EXPECT-JSON: summary.kinds.qp.alive == 1
// LINK: rdmacm
#include <rdma/rdma_verbs.h>
#include <signal.h>

#include "cm_scenario.h"

enum { kRounds = 3 };

static struct rdma_cm_id* routed(struct rdma_event_channel* channel) {
  struct rdma_cm_id* id = NULL;
  MUST(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
  resolve(id, channel, "10.77.0.1");
  return id;
}

int main(int argc, char** argv) {
  MUST(argc == 3);
  const char* what = argv[1];
  const int left = strcmp(argv[2], "left") == 0;
  struct rdma_event_channel* channel = rdma_create_event_channel();
  struct rdma_addrinfo hints, *found = NULL;
  memset(&hints, 0, sizeof(hints));
  hints.ai_port_space = RDMA_PS_TCP;
  MUST(rdma_getaddrinfo("10.77.0.1", "7471", &hints, &found) == 0);
  for (int i = 0; i < kRounds; ++i) {
    const int keep = left && i == 0;
    struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, NULL, NULL);
    if (strcmp(what, "ep") == 0) {
      struct rdma_cm_id* id = NULL;
      MUST(rdma_create_ep(&id, found, NULL, &attr) == 0);
      if (!keep) rdma_destroy_ep(id);
      continue;
    }
    struct rdma_cm_id* id = routed(channel);
    if (strcmp(what, "srq") == 0) {
      struct ibv_srq_init_attr srq;
      memset(&srq, 0, sizeof(srq));
      srq.attr.max_wr = 4;
      srq.attr.max_sge = 1;
      MUST(rdma_create_srq(id, NULL, &srq) == 0);
      if (!keep) rdma_destroy_srq(id);
    } else {
      MUST(rdma_create_qp(id, NULL, &attr) == 0);
      if (!keep) rdma_destroy_qp(id);
    }
    MUST(rdma_destroy_id(id) == 0 || keep);
  }
  rdma_freeaddrinfo(found);
  rdma_destroy_event_channel(channel);
  if (!left) kill(getpid(), SIGUSR1);
  return 0;
}
