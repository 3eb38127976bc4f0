// Leaks MRs from a thousand stacks, and closes the context: the two reports are what is measured (scripts/bench).
//
//   report_bench OBJECTS
#include <infiniband/verbs.h>
#include <stdlib.h>

#undef ibv_reg_mr

namespace {

char buffer[4096];

// Which of the two calls each frame was in is a bit of `path`.
__attribute__((noinline)) void Leak(int levels, unsigned path, ibv_pd* pd) {
  if (levels == 0) {
    if (ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE) == nullptr) abort();
  } else if ((path & 1) != 0) {
    Leak(levels - 1, path >> 1, pd);
    asm volatile("");  // no tail call, and two places to return to
  } else {
    Leak(levels - 1, path >> 1, pd);
    asm volatile("nop");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  ibv_device** list = ibv_get_device_list(nullptr);
  ibv_context* context = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  ibv_pd* pd = ibv_alloc_pd(context);
  const long objects = atol(argv[1]);
  for (long i = 0; i < objects; ++i) Leak(10, static_cast<unsigned>(i % 1000), pd);
  return ibv_close_device(context);
}
