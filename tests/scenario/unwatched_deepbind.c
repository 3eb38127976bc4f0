// verify=kernel: a library that was opened with RTLD_DEEPBIND makes a PD past us. The report names the library.
// RUN: on=device args="leave" options="verify=kernel" exit=0
// EXPECT: WARNING unwatched-object: the kernel lists 1 pd of this process on rxe0 whose creation was not seen: pdn={{\d+}}
// EXPECT: untracked creators seen: {{.*}}past_verbs.so calls ibv_alloc_pd of the library itself (RTLD_DEEPBIND?): what it creates is not seen
// EXPECT: #0 main unwatched_deepbind.c:@close@ (
// EXPECT: SUMMARY: rdmacheck: 1 warning
//
// Passing variant: what it makes it also destroys.
// RUN: on=device args="release" options="verify=kernel:strict=1" exit=0
// EXPECT-NOTHING
#include "past_verbs.h"

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = alloc_past(context);
  MUST(pd != NULL);
  if (strcmp(argv[1], "release") == 0) MUST(dealloc_past(pd) == 0);
  MUST(ibv_close_device(context) == 0);  // @close
  return 0;
}
