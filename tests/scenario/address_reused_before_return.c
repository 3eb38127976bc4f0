// While one thread's destroy has not returned, another thread's create gets the same address: a PD of its own (T11).
// RUN: on=fake options="strict=1" exit=0
// EXPECT-NOTHING
// EXPECT-JSON: summary.kinds.pd.destroyed == 65
#include <pthread.h>

#include "scenario.h"

static void* destroy(void* pd) {
  MUST(ibv_dealloc_pd((struct ibv_pd*)pd) == 0);
  return NULL;
}

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  MUST(pd != NULL);
  fake_block_return("ibv_dealloc_pd");
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, destroy, pd) == 0);
  MUST(fake_await_waiters("ibv_dealloc_pd", 1) == 0);
  struct ibv_pd* reborn[64];
  for (int i = 0; i < 64; ++i) {
    reborn[i] = ibv_alloc_pd(context);
    MUST(reborn[i] != NULL);
  }
  fake_unblock("ibv_dealloc_pd");
  MUST(pthread_join(thread, NULL) == 0);
  for (int i = 0; i < 64; ++i) MUST(ibv_dealloc_pd(reborn[i]) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
