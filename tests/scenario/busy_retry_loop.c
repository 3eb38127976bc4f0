// A thread retries a destroy until another has released the child: one note, however often it was refused (T4, B39).
// RUN: on=both exit=0
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY: 1 mr still uses it
// EXPECT: TOLD busy-destroy: {{\d+}} more not shown: ibv_dealloc_pd at main busy_retry_loop.c:{{\d+, \d+}} times in all, then destroyed
// EXPECT: SUMMARY: rdmacheck: 1 note (busy-destroy 1 seen {{\d+}} times)
// EXPECT-JSON: findings.length == 1
// EXPECT-JSON: findings[0].objects == 1
// EXPECT-JSON: findings[0].resolved == 1
// EXPECT-JSON: findings[0].count >= 20
// EXPECT-JSON: findings[0].severity == note
#include <pthread.h>

#include "scenario.h"

static void* release(void* mr) {
  MUST(ibv_dereg_mr((struct ibv_mr*)mr) == 0);
  return NULL;
}

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  static char buffer[64];
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
  MUST(mr != NULL);
  for (int i = 0; i < 20; ++i) MUST(ibv_dealloc_pd(pd) == EBUSY);
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, release, mr) == 0);
  while (ibv_dealloc_pd(pd) == EBUSY) continue;
  MUST(pthread_join(thread, NULL) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
