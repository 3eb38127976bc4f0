// leaky COUNT: leaves so many memory regions, of many stacks, at a close.
#include "scenario.h"

__attribute__((noinline)) static int descend(unsigned path, int depth, struct ibv_pd* pd) {
  static char buffer[64];
  if (depth > 0) return (path & 1) != 0 ? descend(path >> 1, depth - 1, pd) + 1 : descend(path >> 1, depth - 1, pd) + 2;
  MUST(ibv_reg_mr(pd, buffer, sizeof(buffer), 0) != NULL);
  return 0;
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 1;
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  for (int i = 0; i < count; ++i) descend((unsigned)i, 10, pd);
  MUST(ibv_close_device(context) == 0);
  puts("done");
  return 0;
}
