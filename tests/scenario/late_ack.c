// With RDMAV_ALLOW_DISASSOC_DESTROY a destroy after device loss does not wait for the event that somebody holds: the ack
// that follows would write into freed memory. It is not forwarded (the fake libibverbs would abort).
// RUN: on=fake env="RDMAV_ALLOW_DISASSOC_DESTROY=1 FAKE_OLD_KERNEL=1 FAKE_KEEP=1" args="late" exit=23
// EXPECT: ERROR late-ack: ibv_ack_cq_events for cq #{{.*}}, which was destroyed after the event was received; call not forwarded
// EXPECT: acknowledged here
// EXPECT: #0 main late_ack.c:@ack@ (
// EXPECT: created
// EXPECT: destroyed
// EXPECT: #0 main late_ack.c:@destroy@ (
// EXPECT: the event was received
// EXPECT-NOT: use-after-destroy
//
// RUN: on=fake env="RDMAV_ALLOW_DISASSOC_DESTROY=1 FAKE_OLD_KERNEL=1 FAKE_KEEP=1" args="early" exit=0
// EXPECT-NOTHING
#include "event_scenario.h"

int main(int argc, char** argv) {
  MUST(argc == 2);
  const int late = strcmp(argv[1], "late") == 0;
  struct ibv_context* context = open_device();
  struct ibv_comp_channel* channel = ibv_create_comp_channel(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, channel, 0);
  MUST(cq != NULL && fake_post_cq_event(cq) == 0);
  join(start(take_one, channel));
  MUST(fake_device_fatal(context) == 0);
  struct ibv_async_event event;
  MUST(ibv_get_async_event(context, &event) == 0 && event.event_type == IBV_EVENT_DEVICE_FATAL);
  ibv_ack_async_event(&event);
  if (!late) ibv_ack_cq_events(cq, 1);
  MUST(ibv_destroy_cq(cq) == 0);  // @destroy
  if (late) ibv_ack_cq_events(cq, 1);  // @ack
  MUST(ibv_destroy_comp_channel(channel) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
