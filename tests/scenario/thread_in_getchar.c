// A thread stands in getchar() of a standard input that nobody writes to when the process ends, with an error and without: its
// status is changed, or not, and it ends either way, with what it has printed.
// RUN: on=fake args="leak" exit=23
// EXPECT: ERROR leak-at-close: {{.*}}1 pd
// EXPECT-OUT: done
//
// RUN: on=fake args="clean" exit=0
// EXPECT-NOTHING
// SAME-OUTPUT
#include <pthread.h>
#include <string.h>

#include "scenario.h"

static void* reader(void* nothing) {
  while (getchar() != EOF) {
  }
  return nothing;
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  int ends[2];
  MUST(pipe(ends) == 0 && dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, reader, NULL) == 0);
  // getchar() holds the stream's lock while it waits.
  while (ftrylockfile(stdin) == 0) {
    funlockfile(stdin);
    usleep(1000);
  }
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  MUST(pd != NULL);
  if (strcmp(argv[1], "clean") == 0) MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  puts("done");
  return 0;
}
