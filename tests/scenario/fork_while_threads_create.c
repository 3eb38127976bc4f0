// Forks while other threads make and destroy objects: what they do goes on where it was, and nothing is lost or told.
// RUN: on=both exit=0 options="strict=1"
// EXPECT-NOTHING
// SAME-OUTPUT
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "scenario.h"

static atomic_int stop;

static void* churn(void* argument) {
  struct ibv_context* context = (struct ibv_context*)argument;
  long rounds = 0;
  while (!stop || rounds < 10) {
    struct ibv_pd* pd = ibv_alloc_pd(context);
    MUST(pd != NULL && ibv_dealloc_pd(pd) == 0);
    ++rounds;
  }
  return NULL;
}

int main(void) {
  struct ibv_context* context = open_device();
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) MUST(pthread_create(&threads[i], NULL, churn, context) == 0);
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    int status = -1;
    MUST(waitpid(child, &status, 0) == child && status == 0);
  }
  stop = 1;
  for (int i = 0; i < 3; ++i) MUST(pthread_join(threads[i], NULL) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
