// A PD is shared by the program and a library that do not know of each other: the note tells the modules (B20, B30, B33).
// RUN: on=both exit=0
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY: 2 mr still use it
// EXPECT: child mr #
// EXPECT: child mr #{{.*}} at make_an_mr makes_an_mr.c:
// EXPECT: they were created from 2 modules (1 busy_children_of_two_modules, 1 makes_an_mr.so)
#include <dlfcn.h>

#include "scenario.h"

int main(void) {
  char path[512];
  snprintf(path, sizeof(path), "%s/makes_an_mr.so", getenv("SCENARIO_PROGRAMS"));
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  MUST(library != NULL);
  struct ibv_mr* (*make_an_mr)(struct ibv_pd*) = (struct ibv_mr * (*)(struct ibv_pd*)) dlsym(library, "make_an_mr");
  MUST(make_an_mr != NULL);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  static char buffer[64];
  struct ibv_mr* mine = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
  struct ibv_mr* its = make_an_mr(pd);
  MUST(mine != NULL && its != NULL);
  MUST(ibv_dealloc_pd(pd) == EBUSY);
  MUST(ibv_dereg_mr(mine) == 0);
  MUST(ibv_dereg_mr(its) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
