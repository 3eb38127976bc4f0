// Another shim replaces pointers of the context after the open and puts them back before the close (B97, T18): its own
// functions are called, ours behind them, and nothing is said. One that never puts its pointer back keeps it.
// RUN: on=both args="restore" exit=23
// EXPECT-OUT: 1 alloc_mw seen by the shim
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 2 objects alive: 1 pd, 1 mw
//
// RUN: on=both args="keep" exit=23
// EXPECT-OUT: 1 alloc_mw seen by the shim
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 2 objects alive: 1 pd, 1 mw
#include "scenario.h"

static struct ibv_mw* (*next)(struct ibv_pd*, enum ibv_mw_type);
static int seen;

static struct ibv_mw* shim(struct ibv_pd* pd, enum ibv_mw_type type) {
  ++seen;
  return next(pd, type);
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct ibv_context* context = open_device();
  next = context->ops.alloc_mw;
  context->ops.alloc_mw = shim;
  struct ibv_pd* pd = ibv_alloc_pd(context);
  MUST(ibv_alloc_mw(pd, IBV_MW_TYPE_1) != NULL);
  printf("%d alloc_mw seen by the shim\n", seen);
  if (strcmp(argv[1], "restore") == 0) context->ops.alloc_mw = next;
  MUST(ibv_close_device(context) == 0);
  return 0;
}

// RDMA-CORE: 44: the soft device of 33 has no memory windows
