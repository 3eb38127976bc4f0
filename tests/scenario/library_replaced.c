// A library is unloaded, and another comes to lie where it was, whose frames are larger: what was learnt of the first one's
// frames is not taken for the second's.
// RUN: on=fake exit=0
// EXPECT: WARNING open-at-exit
// EXPECT: 1 mr
// EXPECT: #0 make_in_a_frame in_a_frame.h:{{\d+}} (large_frame.so+0x
// EXPECT: #1 call_of library_replaced.c:@call@ (
// EXPECT: #2 main library_replaced.c:@second@ (
#include <dlfcn.h>

#include "scenario.h"

typedef struct ibv_mr* (*maker)(struct ibv_pd*);

static __attribute__((noinline)) struct ibv_mr* call_of(maker make, struct ibv_pd* pd) {
  struct ibv_mr* mr = make(pd);  // @call
  MUST(mr != NULL);
  return mr;
}

static void* load(const char* name, maker* make) {
  char path[512];
  snprintf(path, sizeof(path), "%s/%s", getenv("SCENARIO_PROGRAMS"), name);
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  MUST(library != NULL);
  *make = (maker)dlsym(library, "make_in_a_frame");
  MUST(*make != NULL);
  return library;
}

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  maker first = NULL, second = NULL;
  void* library = load("small_frame.so", &first);
  for (int i = 0; i < 8; ++i) MUST(ibv_dereg_mr(call_of(first, pd)) == 0);
  MUST(dlclose(library) == 0);
  load("large_frame.so", &second);
  MUST(second == first);
  struct ibv_mr* mr = call_of(second, pd);  // @second
  MUST(mr != NULL);
  return 0;
}
