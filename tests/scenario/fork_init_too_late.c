// Another library has registered memory before ibv_fork_init is called (brpc #2566): which?
// RUN: on=fake args="late" exit=0
// EXPECT: NOTE fork-init-late: ibv_fork_init failed with EINVAL because memory was registered before it, first by ibv_reg_mr
// EXPECT: #0 main fork_init_too_late.c:@init@ (
// EXPECT: #0 other_library fork_init_too_late.c:@register@ (
//
// RUN: on=fake args="gone" exit=0
// EXPECT: NOTE fork-init-late: ibv_fork_init failed with EINVAL because memory was registered before it, first by ibv_reg_mr
// EXPECT: #0 other_library fork_init_too_late.c:@register@ (
//
// RUN: on=fake args="early" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake args="late" env="RDMAV_FORK_SAFE=1" exit=0
// EXPECT-NOTHING
#include "scenario.h"

static char buffer[8192];
static __attribute__((noinline)) struct ibv_mr* other_library(struct ibv_pd* pd) {
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);  // @register
  MUST(mr != NULL);
  return mr;
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  if (strcmp(argv[1], "early") == 0) MUST(ibv_fork_init() == 0);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_mr* mr = other_library(pd);
  if (strcmp(argv[1], "gone") == 0) {
    MUST(ibv_dereg_mr(mr) == 0);
    mr = NULL;
  }
  if (strcmp(argv[1], "early") != 0) {
    const int error = ibv_fork_init();  // @init
    MUST(error == (getenv("RDMAV_FORK_SAFE") != NULL ? 0 : EINVAL));
  }
  if (mr != NULL) MUST(ibv_dereg_mr(mr) == 0);
  MUST(ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}
