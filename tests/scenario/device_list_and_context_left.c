// An early return between open and free: the list and the context, each once (B60, B03).
// RUN: on=both exit=0
// EXPECT: WARNING device-list-leak: 1 device list
// EXPECT: #0 discover device_list_and_context_left.c:@list@ (
// EXPECT: WARNING open-at-exit: 1 object is still open when the process ends: 1 context
// EXPECT: probe-only: nothing was ever created on it
// EXPECT: #0 discover device_list_and_context_left.c:@open@ (
#include "scenario.h"

static __attribute__((noinline)) int discover(void) {
  struct ibv_device** list = ibv_get_device_list(NULL);  // @list
  struct ibv_context* context = ibv_open_device(list[0]);  // @open
  struct ibv_port_attr port;
  if (ibv_query_port(context, 200, &port) != 0) return -1;
  ibv_close_device(context);
  ibv_free_device_list(list);
  return 0;
}

int main(void) {
  MUST(discover() == -1);
  return 0;
}
