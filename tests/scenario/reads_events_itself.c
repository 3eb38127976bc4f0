// A program that reads the channel's descriptor itself and only acks by the verb: what is unknown is never judged.
// RUN: on=fake options="strict=1" exit=0
// EXPECT-NOTHING
#include "event_scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_comp_channel* channel = ibv_create_comp_channel(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, channel, 0);
  MUST(cq != NULL && fake_post_cq_event(cq) == 0);
  uint64_t message;
  MUST(read(channel->fd, &message, sizeof(message)) == sizeof(message));
  ibv_ack_cq_events(cq, 1);
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_destroy_comp_channel(channel) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
