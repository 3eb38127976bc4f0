// A soft device with one object of each kind, which is about to be lost, and threads that wait for its events.
#pragma once

#include <stdatomic.h>

#include "event_scenario.h"

static char memory[4096];
static struct ibv_context* context;
static struct ibv_pd* pd;
static struct ibv_comp_channel* channel;
static struct ibv_cq* cq;
static struct ibv_mr* mr;
static struct ibv_srq* srq;
static struct ibv_qp* qp;

static struct ibv_context* open_named(const char* name) {
  struct ibv_device** list = ibv_get_device_list(NULL);
  struct ibv_context* found = NULL;
  for (int i = 0; list[i] != NULL; ++i) {
    if (strcmp(ibv_get_device_name(list[i]), name) == 0) found = ibv_open_device(list[i]);
  }
  ibv_free_device_list(list);
  MUST(found != NULL);
  return found;
}

// 98: there is no such device, and none can be made. The run before this one may have removed it.
static int make_objects(void) {
  if (system("rdma link show rxe0/1 >/dev/null 2>&1 || rdma link add rxe0 type rxe netdev dummy0") != 0) return 98;
  context = open_named("rxe0");
  pd = ibv_alloc_pd(context);
  channel = ibv_create_comp_channel(context);
  cq = ibv_create_cq(context, 4, NULL, channel, 0);
  mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
  struct ibv_srq_init_attr shared = srq_attr();
  srq = ibv_create_srq(pd, &shared);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, srq);
  qp = ibv_create_qp(pd, &attr);
  MUST(mr != NULL && qp != NULL);
  return 0;
}

// A reader's words, printed by the main thread so that they come in one order.
struct reader {
  atomic_int tid;
  char words[100];
};
static struct reader completion, asynchronous, elsewhere;

// Is it blocked in the kernel: in read, poll or ppoll?
static int is_blocked(const struct reader* reader) {
  char path[64], state[256] = "";
  snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", reader->tid);
  const int fd = reader->tid == 0 ? -1 : open(path, O_RDONLY);
  const ssize_t size = fd < 0 ? 0 : read(fd, state, sizeof(state) - 1);
  if (fd >= 0) close(fd);
  return size > 2 && (strncmp(state, "0 ", 2) == 0 || strncmp(state, "7 ", 2) == 0 || strncmp(state, "271 ", 4) == 0);
}

static void await(const struct reader* reader) {
  while (!is_blocked(reader)) sched_yield();
}
