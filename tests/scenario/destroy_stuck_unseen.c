// With hang_timeout given the destroy of an object whose creation was not seen is watched too.
// SANITIZER: its runtime ends the program at a dlopen with RTLD_DEEPBIND.
// RUN: on=fake options="hang_timeout=1" env="FAKE_DELAY=ibv_dealloc_pd=2500" exit=0
// EXPECT: WARNING blocked-destroy: ibv_dealloc_pd {{.*}}has not returned for {{1\.\d}} s: no unacknowledged event explains it
// EXPECT: #0 main destroy_stuck_unseen.c:@dealloc@ (
//
// RUN: on=fake options="hang_timeout=1" exit=0
// EXPECT-NOTHING
#include "past_verbs.h"

int main(void) {
  struct ibv_context* context = open_device();
  MUST(ibv_dealloc_pd(alloc_past(context)) == 0);  // @dealloc
  MUST(ibv_close_device(context) == 0);
  return 0;
}
