// A completion channel with two CQs on it is refused in user space, by libibverbs itself (V2).
// RUN: on=both exit=0
// EXPECT: NOTE busy-destroy: ibv_destroy_comp_channel of comp_channel #{{\d+}} fd={{\d+}} returned EBUSY: 2 cq still use it
// EXPECT: child cq #
// EXPECT: child cq #
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_comp_channel* channel = ibv_create_comp_channel(context);
  struct ibv_cq* one = ibv_create_cq(context, 4, NULL, channel, 0);
  struct ibv_cq* two = ibv_create_cq(context, 4, NULL, channel, 0);
  MUST(one != NULL && two != NULL);
  MUST(ibv_destroy_comp_channel(channel) == EBUSY);
  MUST(ibv_destroy_cq(one) == 0);
  MUST(ibv_destroy_cq(two) == 0);
  MUST(ibv_destroy_comp_channel(channel) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
