// Handlers of on_exit() and atexit(), registered in turns, release what the program made: not reported. Left, it is.
// RUN: on=both args="all" options="strict=1" exit=3
// EXPECT-NOTHING
//
// RUN: on=both args="some" exit=3
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 1 object alive: 1 pd
//
// RUN: on=both args="none" exit=3
// EXPECT: WARNING open-at-exit: 3 objects are still open when the process ends: 1 context, 1 pd, 1 mr
#include "scenario.h"

static struct ibv_context* context;
static struct ibv_pd* pd;
static struct ibv_mr* mr;
static char buffer[64];
static const char* what;

static void dereg(int status, void* region) {
  MUST(status == 3 && region == mr);
  MUST(ibv_dereg_mr(mr) == 0);
}
static void dealloc(void) {
  if (strcmp(what, "all") == 0) MUST(ibv_dealloc_pd(pd) == 0);
}
static void close_it(int status, void* of) {
  MUST(status == 3);
  MUST(ibv_close_device(of) == 0);
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  what = argv[1];
  context = open_device();
  pd = ibv_alloc_pd(context);
  mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
  MUST(pd != NULL && mr != NULL);
  if (strcmp(what, "none") != 0) MUST(on_exit(close_it, context) == 0 && atexit(dealloc) == 0 && on_exit(dereg, mr) == 0);
  exit(3);
}
