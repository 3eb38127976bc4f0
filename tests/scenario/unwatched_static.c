// verify=kernel: a program that is linked statically with libibverbs calls no verb that we see. What it leaves is reported
// at its end all the same.
// LINK: static
// RUN: on=device args="leave" options="verify=kernel" exit=0
// EXPECT: WARNING unwatched-object: the kernel lists 1 context of this process on rxe0 whose creation was not seen: ctxn={{\d+}}
// EXPECT: WARNING unwatched-object: the kernel lists 1 pd of this process on rxe0 whose creation was not seen: pdn={{\d+}}
// EXPECT: WARNING unwatched-object: the kernel lists 1 mr of this process on rxe0 whose creation was not seen
// EXPECT: SUMMARY: rdmacheck: 3 warnings (unwatched-object 3)
//
// RUN: on=device args="leave" options="verify=kernel:strict=1" exit=23
// EXPECT: ERROR unwatched-object
// EXPECT: ERROR unwatched-object
// EXPECT: ERROR unwatched-object
//
// Passing variants: it releases what it makes; the option is not given.
// RUN: on=device args="release" options="verify=kernel:strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="leave" options="strict=1" exit=0
// EXPECT-NOTHING
#include "scenario.h"

static char buffer[4096];

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  MUST(pd != NULL);
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
  MUST(mr != NULL);
  if (strcmp(argv[1], "leave") == 0) return 0;
  MUST(ibv_dereg_mr(mr) == 0 && ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}
