// Does one thing TIMES times, 16 frames deep, for whoever counts instructions (count_instructions.py).
//
//   counted pair|fresh|event|report TIMES
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_verbs.h"

#undef ibv_reg_mr

namespace {

constexpr int kFrames = 16;
char buffer[4096];
ibv_context* context;
ibv_pd* pd;
ibv_comp_channel* channel;
ibv_cq* cq;

void Must(bool ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "counted: %s failed\n", what);
  exit(2);
}

void Pair() {
  ibv_mr* const mr = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
  ibv_dereg_mr(mr);
}

void Event() {
  void* cq_context = nullptr;
  ibv_cq* of = nullptr;
  Must(fake_post_cq_event(cq) == 0, "fake_post_cq_event");
  Must(ibv_get_cq_event(channel, &of, &cq_context) == 0, "ibv_get_cq_event");
  ibv_ack_cq_events(of, 1);
}

void Leak() { Must(ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE) != nullptr, "ibv_reg_mr"); }

// Which of the two calls each frame was in is a bit of `path`.
__attribute__((noinline)) void Descend(int levels, unsigned path, void (*leaf)(), long times) {
  if (levels == 0) {
    for (long i = 0; i < times; ++i) leaf();
  } else if ((path & 1) != 0) {
    Descend(levels - 1, path >> 1, leaf, times);
    asm volatile("");  // no tail call, and two places to return to
  } else {
    Descend(levels - 1, path >> 1, leaf, times);
    asm volatile("nop");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* const what = argv[1];
  const long times = atol(argv[2]);
  ibv_device** list = ibv_get_device_list(nullptr);
  context = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  pd = ibv_alloc_pd(context);
  // main and the C library's two are frames too.
  const int levels = kFrames - 5;
  if (strcmp(what, "pair") == 0) {
    Descend(levels, 0, &Pair, times);
  } else if (strcmp(what, "fresh") == 0 || strcmp(what, "report") == 0) {
    void (*const leaf)() = what[0] == 'f' ? &Pair : &Leak;
    for (long i = 0; i < times; ++i) Descend(levels, static_cast<unsigned>(i % 1000), leaf, 1);
  } else if (strcmp(what, "event") == 0) {
    channel = ibv_create_comp_channel(context);
    cq = ibv_create_cq(context, 16, nullptr, channel, 0);
    Descend(levels, 0, &Event, times);
    ibv_destroy_cq(cq);
    ibv_destroy_comp_channel(channel);
  } else {
    return 2;
  }
  if (what[0] != 'r') ibv_dealloc_pd(pd);
  return ibv_close_device(context);
}
