// verify=kernel: a program that runs exec in its own process and lets a context's descriptor through leaves its objects to the
// next program. That one did not make them, so nothing is held against it; what it makes itself past us is still reported.
// RUN: on=device args="left" options="verify=kernel:strict=1:verbosity=1" exit=0
// EXPECT: TOLD version
// EXPECT: TOLD not watched: post_send
// EXPECT: TOLD version
// EXPECT: TOLD not watched: post_send
// EXPECT: TOLD hooked
// EXPECT: TOLD not watched: 2 objects of RDMA devices that were there when the program began, on a descriptor that it got through exec
// EXPECT-NOT: unwatched-object
//
// RUN: on=device args="left past" options="verify=kernel" exit=0
// EXPECT: WARNING unwatched-object: the kernel lists 1 pd of this process on rxe0 whose creation was not seen
// EXPECT: SUMMARY: rdmacheck: 1 warning
#include <fcntl.h>

#include "past_verbs.h"

int main(int argc, char** argv) {
  MUST(argc >= 2);
  struct ibv_context* context = open_device();
  if (strcmp(argv[1], "left") == 0) {
    MUST(ibv_alloc_pd(context) != NULL);
    MUST(fcntl(context->cmd_fd, F_SETFD, 0) == 0);
    argv[1] = (char*)"next";
    execv("/proc/self/exe", argv);
    return 1;
  }
  struct ibv_pd* pd = ibv_alloc_pd(context);
  MUST(pd != NULL && ibv_dealloc_pd(pd) == 0);
  if (argc == 3) MUST(alloc_past(context) != NULL);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
