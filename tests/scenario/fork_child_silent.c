// A forked child that calls no verb inherits nothing and says nothing: by _exit, by exit and by exec (T5, B72).
// RUN: on=both options="strict=1" args="exit" exit=0
// EXPECT-NOTHING
// EXPECT-FILES: 1
// SAME-OUTPUT
//
// RUN: on=both options="strict=1" args="_exit" exit=0
// EXPECT-NOTHING
// EXPECT-FILES: 1
//
// RUN: on=both options="strict=1" args="exec" exit=0
// EXPECT-NOTHING
// EXPECT-FILES: 1
#include <sys/wait.h>

#include "scenario.h"

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  MUST(pd != NULL);
  const pid_t child = fork();
  if (child == 0) {
    if (strcmp(argv[1], "exit") == 0) exit(0);
    if (strcmp(argv[1], "_exit") == 0) _exit(0);
    execl("/bin/true", "true", (char*)NULL);
    _exit(98);
  }
  int status = -1;
  MUST(waitpid(child, &status, 0) == child && status == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
