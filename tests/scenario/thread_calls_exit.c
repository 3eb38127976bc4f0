// exit() in a thread: the report is written once, with the status that strict asks for.
// RUN: on=both options="strict=1" exit=23
// EXPECT: ERROR open-at-exit: 2 objects are still open when the process ends: 1 context, 1 pd
// EXPECT: SUMMARY: rdmacheck: 2 errors
// SAME-OUTPUT
#include <pthread.h>

#include "scenario.h"

static void* leave(void* context) {
  MUST(ibv_alloc_pd((struct ibv_context*)context) != NULL);
  puts("leaves");
  exit(0);
}

int main(void) {
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, leave, open_device()) == 0);
  pthread_join(thread, NULL);
  return 98;
}
