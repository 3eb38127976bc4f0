// verify=kernel: a forked child keeps the parent's context in the kernel's list after the parent has closed it; so does a
// duplicate of its descriptor. Neither is an object that nobody saw being made.
// RUN: on=device args="child" options="verify=kernel:strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="duplicate" options="verify=kernel:strict=1" exit=0
// EXPECT-NOTHING
//
// What is made past us is still reported beside it.
// RUN: on=device args="child past" options="verify=kernel" exit=0
// EXPECT: WARNING unwatched-object: the kernel lists 1 pd of this process on rxe0 whose creation was not seen: pdn={{\d+}}
// EXPECT: SUMMARY: rdmacheck: 1 warning
#include <sys/wait.h>

#include "past_verbs.h"

int main(int argc, char** argv) {
  MUST(argc >= 2);
  int pipes[2] = {-1, -1}, duplicate = -1;
  struct ibv_context* kept = open_device();
  pid_t child = -1;
  if (strcmp(argv[1], "duplicate") == 0) {
    MUST((duplicate = dup(kept->cmd_fd)) >= 0);
  } else {
    MUST(pipe(pipes) == 0);
    MUST((child = fork()) >= 0);
    if (child == 0) {
      char byte;
      close(pipes[1]);
      _exit(read(pipes[0], &byte, 1) == 0 ? 0 : 1);
    }
  }
  MUST(ibv_close_device(kept) == 0);
  for (int i = 0; i < 3; ++i) {
    struct ibv_context* context = open_device();
    struct ibv_pd* pd = ibv_alloc_pd(context);
    MUST(pd != NULL && ibv_dealloc_pd(pd) == 0);
    if (argc == 3 && i == 2) MUST(alloc_past(context) != NULL);
    MUST(ibv_close_device(context) == 0);
  }
  if (duplicate >= 0) close(duplicate);
  int status = 0;
  if (child >= 0) {
    close(pipes[1]);
    MUST(waitpid(child, &status, 0) == child && status == 0);
  }
  return 0;
}
