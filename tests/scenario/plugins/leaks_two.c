// Leaves a PD, made by an exported verb, and a window, made by an inline one.
#include <infiniband/verbs.h>

int leak_two(void) {
  struct ibv_device** list = ibv_get_device_list(NULL);
  if (list == NULL || list[0] == NULL) return -1;
  struct ibv_context* context = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  if (context == NULL) return -2;
  struct ibv_pd* pd = ibv_alloc_pd(context);
  if (pd == NULL) return -3;
  if (ibv_alloc_mw(pd, IBV_MW_TYPE_1) == NULL) return -4;
  return ibv_close_device(context);
}
