// A device is lost while threads wait for its events in every way there is. On the fake libibverbs, whose descriptors are
// read and polled as the kernel's are; the commands are the soft device's affair (tests/device/simulated_removal.c).
//   loss_subject signal|call|time    how it is lost; prints what each waiter saw
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "scenario.h"

static struct ibv_context* context;
static struct ibv_comp_channel* channel;
static struct ibv_cq* cq;
static char words[8][120];
static _Atomic int waiting;

static void* get_cq_event(void* unused) {
  struct ibv_cq* of = NULL;
  void* user = NULL;
  ++waiting;
  const int rc = ibv_get_cq_event(channel, &of, &user);
  snprintf(words[0], sizeof(words[0]), "get_cq_event %d %s", rc, rc != 0 && errno == EIO ? "EIO" : "other");
  return unused;
}
static void* get_async_event(void* unused) {
  struct ibv_async_event event;
  ++waiting;
  const int rc = ibv_get_async_event(context, &event);
  snprintf(words[1], sizeof(words[1]), "get_async_event %d %s", rc,
           rc == 0 && event.event_type == IBV_EVENT_DEVICE_FATAL ? "DEVICE_FATAL" : "other");
  if (rc == 0) ibv_ack_async_event(&event);
  return unused;
}
static void* poll_both(void* unused) {
  struct pollfd both[2] = {{channel->fd, POLLIN, 0}, {context->async_fd, POLLIN, 0}};
  ++waiting;
  // The async descriptor comes first, as in the kernel.
  do {
    poll(both, 2, -1);
  } while ((both[0].revents & POLLERR) == 0);
  snprintf(words[2], sizeof(words[2]), "poll 0x%x", both[0].revents);
  return unused;
}
static void* select_channel(void* unused) {
  fd_set read;
  FD_ZERO(&read);
  FD_SET(channel->fd, &read);
  ++waiting;
  const int rc = select(channel->fd + 1, &read, NULL, NULL, NULL);
  snprintf(words[3], sizeof(words[3]), "select %d %d", rc, FD_ISSET(channel->fd, &read) != 0);
  return unused;
}
static void* epoll_channel(void* unused) {
  const int epoll = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = 4711};
  MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, channel->fd, &event) == 0);
  ++waiting;
  struct epoll_event got = {0};
  const int rc = epoll_wait(epoll, &got, 1, -1);
  snprintf(words[4], sizeof(words[4]), "epoll %d 0x%x %d", rc, got.events, (int)got.data.u64);
  close(epoll);
  return unused;
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  channel = ibv_create_comp_channel(context);
  cq = ibv_create_cq(context, 4, NULL, channel, 0);
  MUST(pd != NULL && cq != NULL);
  // An event that is there before is delivered before the end.
  MUST(fake_post_cq_event(cq) == 0);
  struct ibv_cq* of = NULL;
  void* user = NULL;
  MUST(ibv_get_cq_event(channel, &of, &user) == 0 && of == cq);
  ibv_ack_cq_events(cq, 1);

  void* (*const all[])(void*) = {get_cq_event, get_async_event, poll_both, select_channel, epoll_channel};
  pthread_t threads[5];
  // The asynchronous event is one: who polls for it must not be before who gets it.
  for (int i = 0; i < 5; ++i) MUST(pthread_create(&threads[i], NULL, all[i], NULL) == 0);
  while (waiting < 5) usleep(1000);
  usleep(50000);
  if (strcmp(argv[1], "signal") == 0) kill(getpid(), SIGUSR1);
  struct ibv_pd* second = ibv_alloc_pd(context);  // the call that it is lost after
  for (int i = 0; i < 5; ++i) MUST(pthread_join(threads[i], NULL) == 0);
  for (int i = 0; i < 5; ++i) puts(words[i]);

  // Afterwards: at once.
  MUST(ibv_get_cq_event(channel, &of, &user) == -1 && errno == EIO);
  struct pollfd async = {context->async_fd, POLLIN, 0};
  MUST(poll(&async, 1, 0) == 0);  // DEVICE_FATAL is delivered once
  MUST(ibv_open_device(context->device) == NULL && errno == ENODEV);
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_destroy_comp_channel(channel) == 0);
  if (second != NULL) MUST(ibv_dealloc_pd(second) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  puts("closed");
  return 0;
}
