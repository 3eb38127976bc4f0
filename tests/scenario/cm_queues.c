// QPs and SRQs made through an id by each of librdmacm's calls, and lists of devices: left, they are reported under the id
// or of themselves; released, they are quiet.
// RUN: on=device args="qp_ex left" exit=23
// EXPECT: ERROR cm-qp-left: rdma_destroy_id of cm_id #{{\d+}} while its qp #
// EXPECT-ALSO: WARNING open-at-exit
//
// RUN: on=device args="qp_ex clean" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="srq left" exit=23
// EXPECT: ERROR cm-qp-left: rdma_destroy_id of cm_id #{{\d+}} while its srq #
// EXPECT-ALSO: WARNING open-at-exit
//
// RUN: on=device args="srq clean" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="srq_ex left" exit=23
// EXPECT: ERROR cm-qp-left: rdma_destroy_id of cm_id #{{\d+}} while its srq #
// EXPECT-ALSO: WARNING open-at-exit
//
// RUN: on=device args="srq_ex clean" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="devices left" options="strict=1" exit=23
// EXPECT: ERROR device-list-leak: 1 device list never freed, with {{[1-9]\d*}} device{{s?}}
// EXPECT: 1 cm_device_list #
//
// RUN: on=device args="devices clean" options="strict=1" exit=0
// EXPECT-NOTHING
// LINK: rdmacm
#include <rdma/rdma_verbs.h>

#include "cm_scenario.h"

int main(int argc, char** argv) {
  MUST(argc == 3);
  const char* what = argv[1];
  const int clean = strcmp(argv[2], "clean") == 0;
  struct rdma_event_channel* channel = rdma_create_event_channel();
  struct rdma_cm_id* id = NULL;
  MUST(channel != NULL && rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
  resolve(id, channel, "10.77.0.1");
  struct ibv_pd* pd = ibv_alloc_pd(id->verbs);
  MUST(pd != NULL);
  if (strcmp(what, "qp_ex") == 0) {
    struct ibv_qp_init_attr_ex attr;
    memset(&attr, 0, sizeof(attr));
    attr.qp_type = IBV_QPT_RC;
    attr.cap.max_send_wr = attr.cap.max_recv_wr = attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
    attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attr.pd = pd;
    MUST(rdma_create_qp_ex(id, &attr) == 0);
    if (clean) rdma_destroy_qp(id);
  } else if (strcmp(what, "srq") == 0) {
    struct ibv_srq_init_attr attr = srq_attr();
    MUST(rdma_create_srq(id, pd, &attr) == 0);
    if (clean) rdma_destroy_srq(id);
  } else if (strcmp(what, "srq_ex") == 0) {
    struct ibv_srq_init_attr_ex attr;
    memset(&attr, 0, sizeof(attr));
    attr.attr.max_wr = 8;
    attr.attr.max_sge = 1;
    attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
    attr.srq_type = IBV_SRQT_BASIC;
    attr.pd = pd;
    MUST(rdma_create_srq_ex(id, &attr) == 0);
    if (clean) rdma_destroy_srq(id);
  } else {
    struct ibv_context** devices = rdma_get_devices(NULL);
    MUST(devices != NULL);
    if (clean) rdma_free_devices(devices);
  }
  if (clean || strcmp(what, "devices") == 0) MUST(ibv_dealloc_pd(pd) == 0);
  MUST(rdma_destroy_id(id) == 0);
  rdma_destroy_event_channel(channel);
  return 0;
}

// RDMA-CORE: 44: the soft device of 33 has no ibv_create_qp_ex
