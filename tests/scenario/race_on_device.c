// The forbidden overlap on the soft device: one thread in ibv_get_async_event while the other destroys a CQ.
// RUN: on=device env="RDMAV_ALLOW_DISASSOC_DESTROY=1" exit=23
// EXPECT: ERROR event-destroy-race: thread {{\d+}} is inside ibv_get_async_event on context #{{.*}} while thread {{\d+}} is inside ibv_destroy_cq of cq #{{.*}}, with RDMAV_ALLOW_DISASSOC_DESTROY in effect
// EXPECT: #0 main race_on_device.c:@destroy@ (
// EXPECT: #0 serve race_on_device.c:@get@ (
// EXPECT: WARNING open-at-exit: 1 object is still open when the process ends: 1 context
//
// RUN: on=device exit=0
// EXPECT: WARNING open-at-exit: 1 object is still open when the process ends: 1 context
#include <stdatomic.h>

#include "event_scenario.h"

static atomic_int tid;

static void* serve(void* context) {
  struct ibv_async_event event;
  tid = gettid();
  ibv_get_async_event((struct ibv_context*)context, &event);  // @get
  return NULL;
}

// Blocked in the kernel's read of events, so it is inside the verb.
static int is_reading(int thread) {
  char path[64], state[256] = "";
  snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", thread);
  const int fd = open(path, O_RDONLY);
  const ssize_t size = fd < 0 ? 0 : read(fd, state, sizeof(state) - 1);
  if (fd >= 0) close(fd);
  return size > 2 && strncmp(state, "0 ", 2) == 0;
}

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  MUST(cq != NULL);
  start(serve, context);
  while (tid == 0 || !is_reading(tid)) continue;
  MUST(ibv_destroy_cq(cq) == 0);  // @destroy
  exit(0);
}
