// All devices are opened, one is used: what is left is called probe-only, device by device (B05, B89).
// RUN: on=both env="FAKE_DEVICES=2" exit=0
// EXPECT: WARNING open-at-exit: 1 object is still open when the process ends: 1 context
// EXPECT: 1 context #{{\d+}} on {{fake1|rxe1|rxe0}}: cmd_fd={{\d+}} async_fd={{\d+}}
// EXPECT: probe-only: nothing was ever created on it
// EXPECT: #0 main probe_only_contexts.c:@open@ (
// EXPECT-JSON: findings[0].object.remark =~ probe-only
#include "scenario.h"

int main(void) {
  int devices = 0;
  struct ibv_device** list = ibv_get_device_list(&devices);
  MUST(devices == 2);
  struct ibv_context* contexts[2];
  for (int i = 0; i < devices; ++i) {
    contexts[i] = ibv_open_device(list[i]);  // @open
    MUST(contexts[i] != NULL);
    union ibv_gid gid;
    ibv_query_gid(contexts[i], 1, 0, &gid);
  }
  ibv_free_device_list(list);
  struct ibv_pd* pd = ibv_alloc_pd(contexts[0]);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(contexts[0]) == 0);
  return 0;
}
