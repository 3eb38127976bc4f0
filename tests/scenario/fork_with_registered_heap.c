// A small heap buffer is registered under ibv_fork_init, and a child touches the heap (B68, B69, B71): no rule of ours
// speaks of pages, and none may speak by mistake.
// RUN: on=both options="strict=1" exit=0
// EXPECT-NOTHING
#include <sys/wait.h>

#include "scenario.h"

int main(void) {
  MUST(ibv_fork_init() == 0);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  char* area = (char*)aligned_alloc(4096, 8192);
  struct ibv_mr* mr = ibv_reg_mr(pd, area + 4096, 320, IBV_ACCESS_LOCAL_WRITE);
  MUST(mr != NULL);
  const pid_t child = fork();
  if (child == 0) {
    area[0] = 1;
    free(malloc(100));
    _exit(0);
  }
  int status = -1;
  MUST(waitpid(child, &status, 0) == child && status == 0);
  MUST(ibv_dereg_mr(mr) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
