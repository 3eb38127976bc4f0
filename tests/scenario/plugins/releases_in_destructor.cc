// Holds a PD until its static destructor runs.
#include <infiniband/verbs.h>
#include <stdio.h>

namespace {
struct Holder {
  ibv_pd* pd = nullptr;
  ~Holder() {
    if (pd == nullptr) return;
    ibv_context* context = pd->context;
    if (ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0) puts("released by the library");
  }
};
Holder holder;
}  // namespace

extern "C" void hold_a_pd(ibv_context* context) { holder.pd = ibv_alloc_pd(context); }
