// Two threads that would hardly ever meet: one takes an event, and acks it after a while; the other destroys the CQ.
//   delay_subject    prints in which order they were, as they say it themselves
// With RDMAV_ALLOW_DISASSOC_DESTROY a get and a destroy that overlap are event-destroy-race.
#include <pthread.h>

#include "scenario.h"

static struct ibv_context* context;
static struct ibv_comp_channel* channel;
static struct ibv_cq* cq;
static _Atomic int inside, taken;

static void* take(void* unused) {
  struct ibv_cq* of = NULL;
  void* user = NULL;
  inside = 1;
  MUST(ibv_get_cq_event(channel, &of, &user) == 0);  // @get
  taken = 1;
  ibv_ack_cq_events(of, 1);
  return unused;
}

int main(void) {
  context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  channel = ibv_create_comp_channel(context);
  cq = ibv_create_cq(context, 4, NULL, channel, 0);
  MUST(fake_post_cq_event(cq) == 0);
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, take, NULL) == 0);
  while (!inside) usleep(100);
  usleep(200000);
  puts(taken ? "taken before" : "not yet taken");
  MUST(ibv_dealloc_pd(pd) == 0);  // @destroy
  MUST(pthread_join(thread, NULL) == 0);
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_destroy_comp_channel(channel) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
