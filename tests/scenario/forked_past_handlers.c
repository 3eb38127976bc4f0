// A child of _Fork() or of a bare clone runs no fork handlers of ours. What it makes is its own, and what it uses of its parent's is
// reported as after fork().
// RUN: on=fake args="_Fork own" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake args="clone own" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=fake args="_Fork leak" exit=0
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 1 object alive: 1 pd
//
// RUN: on=fake args="clone leak" exit=0
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 1 object alive: 1 pd
//
// RUN: on=fake args="_Fork parents" exit=0
// EXPECT: ERROR foreign-process: ibv_dealloc_pd called with
//
// RUN: on=fake args="clone parents" exit=0
// EXPECT: ERROR foreign-process: ibv_dealloc_pd called with
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "scenario.h"

int main(int argc, char** argv) {
  MUST(argc == 3);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  MUST(pd != NULL);
  const pid_t child = strcmp(argv[1], "_Fork") == 0 ? _Fork() : (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
  MUST(child >= 0);
  if (child == 0) {
    if (strcmp(argv[2], "parents") == 0) {
      ibv_dealloc_pd(pd);
      _exit(5);
    }
    struct ibv_context* own = open_device();
    struct ibv_pd* made = ibv_alloc_pd(own);
    MUST(made != NULL);
    if (strcmp(argv[2], "own") == 0) MUST(ibv_dealloc_pd(made) == 0);
    MUST(ibv_close_device(own) == 0);
    _exit(5);
  }
  int status = 0;
  MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
  MUST(ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}
