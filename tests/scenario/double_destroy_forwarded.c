// forward_double_destroy=1 lets the second destroy through, here into the fake libibverbs, which aborts; the finding is out.
// RUN: on=fake options="forward_double_destroy=1" exit=SIGABRT
// EXPECT: ERROR double-destroy: ibv_dealloc_pd of pd #{{\d+}}{{.*}}, which was destroyed earlier
// EXPECT-NOT: not forwarded
// SANITIZER: the fake libibverbs reads the object that it has freed
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  MUST(ibv_dealloc_pd(pd) == 0);
  ibv_dealloc_pd(pd);
  return 0;
}
