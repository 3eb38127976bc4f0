// A forked child destroys what its parent made (B70, B72): an error of the child, with the fork's place.
// RUN: on=fake args="destroy" exit=0
// EXPECT: ERROR foreign-process: ibv_dealloc_pd called with pd #{{\d+}}{{.*}}, which process {{\d+}} created before it forked this process
// EXPECT: used here
// EXPECT: #0 main foreign_process.c:@child@ (
// EXPECT: created
// EXPECT: #0 main foreign_process.c:@pd@ (
// EXPECT: this process was forked
// EXPECT: #{{\d}} main foreign_process.c:@fork@ (
// EXPECT-FILES: 2
//
// The kernel lets the child destroy the one object that both hold: the parent's own destroy then fails.
// RUN: on=device args="destroy" exit=23
// EXPECT: ERROR foreign-process: ibv_dealloc_pd called with pd #
// EXPECT: ERROR leak-at-close: ibv_close_device(rxe0) leaves 1 object alive: 1 pd
// EXPECT: last failed call: ibv_dealloc_pd returned ENOENT
//
// RUN: on=both args="use" exit=0
// EXPECT: ERROR foreign-process: ibv_reg_mr{{.*}} called with pd #{{\d+}}{{.*}}, which process {{\d+}} created before it forked this process
//
// RUN: on=both args="own" options="strict=1" exit=0
// EXPECT-NOTHING
#include <sys/wait.h>

#include "scenario.h"

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);  // @pd
  MUST(pd != NULL);
  const pid_t child = fork();  // @fork
  static char buffer[64];
  if (child == 0) {
    if (strcmp(argv[1], "destroy") == 0) {
      ibv_dealloc_pd(pd);  // @child
    } else if (strcmp(argv[1], "use") == 0) {
      MUST(ibv_dereg_mr(ibv_reg_mr(pd, buffer, sizeof(buffer), 0)) == 0);
    } else {
      struct ibv_context* own = open_device();
      struct ibv_pd* own_pd = ibv_alloc_pd(own);
      MUST(own_pd != NULL && ibv_dealloc_pd(own_pd) == 0);
      MUST(ibv_close_device(own) == 0);
    }
    exit(0);
  }
  int status = -1;
  MUST(waitpid(child, &status, 0) == child && WIFEXITED(status));
  MUST(WEXITSTATUS(status) == (strcmp(argv[1], "own") == 0 ? 0 : getenv("LD_PRELOAD") != NULL ? 23 : 0));
  ibv_dealloc_pd(pd);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
