// Each reconnect forgets its completion channel until no descriptor is left (B01, B02): one group, not a line each, and
// the create that fails says what is held. The report has its names and its files all the same, though none can be opened.
// RUN: on=both exit=23
// EXPECT: NOTE create-failed: ibv_create_comp_channel failed with EMFILE; this process holds {{\d+}} comp_channel of
// EXPECT: {{\d\d+}} comp_channel, created at connect_once channels_eat_descriptors.c:@channel@
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves {{\d\d+}} objects alive: {{\d\d+}} comp_channel
// EXPECT: {{\d\d+}} comp_channel, the first #{{\d+}} on {{\w+}}: fd=
// EXPECT: #0 connect_once channels_eat_descriptors.c:@channel@ (
// EXPECT-JSON: findings[rule=leak-at-close].count >= 20
// EXPECT-JSON: findings.length == 2
#include <sys/resource.h>

#include "scenario.h"

static __attribute__((noinline)) int connect_once(struct ibv_context* context) {
  struct ibv_comp_channel* channel = ibv_create_comp_channel(context);  // @channel
  if (channel == NULL) return errno;
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, channel, 0);
  MUST(cq != NULL && ibv_destroy_cq(cq) == 0);
  return 0;
}

int main(void) {
  struct rlimit few;
  MUST(getrlimit(RLIMIT_NOFILE, &few) == 0);
  few.rlim_cur = 64;
  MUST(setrlimit(RLIMIT_NOFILE, &few) == 0);
  struct ibv_context* context = open_device();
  int error = 0;
  for (int i = 0; i < 100 && error == 0; ++i) error = connect_once(context);
  MUST(error == EMFILE);
  struct rlimit more = {1024, few.rlim_max};
  MUST(setrlimit(RLIMIT_NOFILE, &more) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
