// With hang_timeout given the destroy of an object whose creation was not seen is watched too.
// SANITIZER: its runtime ends the program at a dlopen with RTLD_DEEPBIND.
// RUN: on=fake options="hang_timeout=1" env="FAKE_DELAY=ibv_dealloc_pd=2500" exit=0
// EXPECT: WARNING blocked-destroy: ibv_dealloc_pd {{.*}}has not returned for {{1\.\d}} s: no unacknowledged event explains it
// EXPECT: #0 main destroy_stuck_unseen.c:@dealloc@ (
//
// RUN: on=fake options="hang_timeout=1" exit=0
// EXPECT-NOTHING
#include <dlfcn.h>

#include "scenario.h"

static struct ibv_pd* alloc_unseen(struct ibv_context* context) {
  char path[4096];
  snprintf(path, sizeof(path), "%s/past_verbs.so", getenv("SCENARIO_PROGRAMS"));
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  MUST(library != NULL);
  struct ibv_pd* (*alloc_a_pd)(struct ibv_context*) = (struct ibv_pd * (*)(struct ibv_context*)) dlsym(library, "alloc_a_pd");
  MUST(alloc_a_pd != NULL);
  return alloc_a_pd(context);
}

int main(void) {
  struct ibv_context* context = open_device();
  MUST(ibv_dealloc_pd(alloc_unseen(context)) == 0);  // @dealloc
  MUST(ibv_close_device(context) == 0);
  return 0;
}
