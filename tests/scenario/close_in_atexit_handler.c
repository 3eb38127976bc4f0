// A handler of exit() closes the context; what is destroyed later by another is a use after close (B78, B83).
// RUN: on=both exit=23
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 1 object alive: 1 pd
// EXPECT: #0 close_it close_in_atexit_handler.c:@close@ (
// EXPECT: ERROR use-after-close: ibv_dealloc_pd of pd #
// EXPECT: #0 destroy_it close_in_atexit_handler.c:@late@ (
#include "scenario.h"

static struct ibv_context* context;
static struct ibv_pd* pd;

static void destroy_it(void) {
  ibv_dealloc_pd(pd);  // @late
}

static void close_it(void) {
  ibv_close_device(context);  // @close
}

int main(void) {
  context = open_device();
  pd = ibv_alloc_pd(context);
  MUST(pd != NULL);
  MUST(atexit(destroy_it) == 0 && atexit(close_it) == 0);
  return 0;
}
