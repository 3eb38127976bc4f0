// What counts is what libibverbs has read at its first ibv_get_device_list: setting the variable later changes nothing.
// RUN: on=both options="strict=1" exit=0
// EXPECT-NOTHING
// EXPECT-JSON: environment.disassoc_destroy == false
//
// RUN: on=both args="before" options="strict=1" exit=0
// EXPECT-NOTHING
// EXPECT-JSON: environment.disassoc_destroy == true
#include "scenario.h"

int main(int argc, char** argv) {
  (void)argv;
  if (argc > 1) setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 1);
  struct ibv_context* context = open_device();
  if (argc == 1) setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 1);
  struct ibv_pd* pd = ibv_alloc_pd(context);
  MUST(pd != NULL && ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
