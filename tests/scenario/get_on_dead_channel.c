// A get on a channel that was destroyed, or on a context that was closed, would read whatever has the descriptor's number by
// now: it is reported and not forwarded. The descriptor here belongs to a pipe of the program.
// RUN: on=fake args="channel" exit=23
// EXPECT: ERROR use-after-destroy: ibv_get_cq_event called with comp_channel #{{.*}}, which was destroyed earlier; call not forwarded (returns -1, EBADF)
// EXPECT: #0 main get_on_dead_channel.c:@get@ (
//
// RUN: on=fake args="dlsym" exit=23
// EXPECT: ERROR use-after-destroy: ibv_get_cq_event called with comp_channel #
//
// RUN: on=fake args="async" exit=23
// EXPECT: ERROR use-after-destroy: ibv_get_async_event called with context #{{.*}}, which was destroyed earlier; call not forwarded (returns -1, EBADF)
//
// RUN: on=fake args="closed" exit=23
// EXPECT: ERROR leak-at-close
// EXPECT: ERROR use-after-close: ibv_get_cq_event called with comp_channel #{{.*}} was closed earlier; call not forwarded (returns -1, EBADF)
//
// RUN: on=fake args="alive" exit=0
// EXPECT-NOTHING
#include <dlfcn.h>
#include <fcntl.h>

#include "scenario.h"

typedef int (*get_function)(struct ibv_comp_channel*, struct ibv_cq**, void**);

int main(int argc, char** argv) {
  MUST(argc == 2);
  get_function get = ibv_get_cq_event;
  if (strcmp(argv[1], "dlsym") == 0) {
    get = (get_function)dlsym(dlopen("libibverbs.so.1", RTLD_NOW), "ibv_get_cq_event");
    MUST(get != NULL);
  }
  struct ibv_context* context = open_device();
  struct ibv_comp_channel* channel = ibv_create_comp_channel(context);
  struct ibv_cq* cq = NULL;
  void* of_cq = NULL;
  if (strcmp(argv[1], "alive") == 0) {
    struct ibv_cq* made = ibv_create_cq(context, 4, NULL, channel, 0);
    MUST(fake_post_cq_event(made) == 0 && get(channel, &cq, &of_cq) == 0 && cq == made);
    ibv_ack_cq_events(cq, 1);
    MUST(fcntl(channel->fd, F_SETFL, O_NONBLOCK) == 0 && get(channel, &cq, &of_cq) == -1 && errno == EAGAIN);
    MUST(ibv_destroy_cq(made) == 0 && ibv_destroy_comp_channel(channel) == 0 && ibv_close_device(context) == 0);
    return 0;
  }
  const int leaves = strcmp(argv[1], "closed") == 0;
  if (!leaves) MUST(ibv_destroy_comp_channel(channel) == 0);
  MUST(ibv_close_device(context) == 0);
  int ends[2], more[2];
  MUST(pipe(ends) == 0 && pipe(more) == 0);
  errno = 0;
  if (strcmp(argv[1], "async") == 0) {
    struct ibv_async_event event;
    MUST(ibv_get_async_event(context, &event) == -1 && errno == EBADF);
    return 0;
  }
  MUST(get(channel, &cq, &of_cq) == -1 && errno == EBADF);  // @get
  return 0;
}
