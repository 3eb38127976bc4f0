// A device is opened after its list was freed, and lists are taken and freed more than once: libibverbs keeps its devices,
// and the pointers are its own (B18, B40).
// RUN: on=both options="strict=1" exit=0
// EXPECT-NOTHING
// SAME-OUTPUT
#include "scenario.h"

int main(void) {
  struct ibv_device** one = ibv_get_device_list(NULL);
  struct ibv_device** two = ibv_get_device_list(NULL);
  MUST(one != NULL && two != NULL && one[0] == two[0]);
  struct ibv_device* device = one[0];
  ibv_free_device_list(one);
  ibv_free_device_list(two);
  struct ibv_context* context = ibv_open_device(device);
  MUST(context != NULL && context->device == device);
  MUST(ibv_close_device(context) == 0);
  puts("same device");
  return 0;
}
