// Takes a device list, a context and a PD and forgets them.
#include <infiniband/verbs.h>

void take_things(void) {
  struct ibv_device** list = ibv_get_device_list(NULL);
  struct ibv_context* context = ibv_open_device(list[0]);
  ibv_alloc_pd(context);
}
