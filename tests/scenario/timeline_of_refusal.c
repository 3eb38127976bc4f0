// A destroy is refused, another thread releases the last child a moment later, nobody tries again: the report says that
// what used it has been destroyed since.
// RUN: on=both exit=23
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY: 1 mr still uses it
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 1 object alive: 1 pd
// EXPECT: destroy refused and never retried
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY and no later try succeeded before its context was closed
// EXPECT: what was seen using it has been destroyed since, and the destroy was not tried again
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
  MUST(mr != NULL && ibv_dealloc_pd(pd) == EBUSY);
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, release, mr) == 0);
  MUST(pthread_join(thread, NULL) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
