// Start-up makes a completion channel that nothing ever uses (B01).
// RUN: on=both exit=0
// EXPECT: WARNING open-at-exit: 2 objects are still open when the process ends: 1 context, 1 comp_channel
// EXPECT: 1 comp_channel #{{\d+}} on {{\w+}}: fd=
// EXPECT: no cq was ever attached to it
// EXPECT: #0 start_up channel_never_used.c:@channel@ (
#include "scenario.h"

static __attribute__((noinline)) void start_up(struct ibv_context* context) {
  struct ibv_comp_channel* channel = ibv_create_comp_channel(context);  // @channel
  MUST(channel != NULL);
}

int main(void) {
  start_up(open_device());
  return 0;
}
