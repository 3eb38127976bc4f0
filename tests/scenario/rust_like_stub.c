// The program defines ibv_* itself, each of which dlopens the real library at first use and passes on, as Rust crates and
// rdma-core-mummy do. Each object is counted once.
// RUN: on=both exit=23
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 2 objects alive: 1 pd, 1 cq
// EXPECT: main rust_like_stub.c:@pd@ (
// EXPECT: main rust_like_stub.c:@cq@ (
// EXPECT-JSON: summary.kinds.pd.created == 1
// EXPECT-JSON: summary.kinds.context.created == 1
// SAME-OUTPUT
// LINK: nothing
#include <dlfcn.h>

#include "scenario.h"
#undef ibv_get_device_list

static void* real(const char* name) {
  static void* library;
  if (library == NULL) library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
  MUST(library != NULL);
  void* function = dlsym(library, name);
  MUST(function != NULL);
  return function;
}

struct ibv_device** ibv_get_device_list(int* count) {
  return ((struct ibv_device * *(*)(int*)) real(__func__))(count);
}
void ibv_free_device_list(struct ibv_device** list) { ((void (*)(struct ibv_device**))real(__func__))(list); }
struct ibv_context* ibv_open_device(struct ibv_device* device) {
  return ((struct ibv_context * (*)(struct ibv_device*)) real(__func__))(device);
}
int ibv_close_device(struct ibv_context* context) { return ((int (*)(struct ibv_context*))real(__func__))(context); }
struct ibv_pd* ibv_alloc_pd(struct ibv_context* context) {
  return ((struct ibv_pd * (*)(struct ibv_context*)) real(__func__))(context);
}
struct ibv_cq* ibv_create_cq(struct ibv_context* context, int cqe, void* cq_context, struct ibv_comp_channel* channel, int vector) {
  return ((struct ibv_cq * (*)(struct ibv_context*, int, void*, struct ibv_comp_channel*, int)) real(__func__))(
      context, cqe, cq_context, channel, vector);
}
int ibv_query_gid(struct ibv_context* context, uint8_t port, int index, union ibv_gid* gid) {
  return ((int (*)(struct ibv_context*, uint8_t, int, union ibv_gid*))real(__func__))(context, port, index, gid);
}
int ibv_modify_qp(struct ibv_qp* qp, struct ibv_qp_attr* attr, int mask) {
  return ((int (*)(struct ibv_qp*, struct ibv_qp_attr*, int))real(__func__))(qp, attr, mask);
}

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);  // @pd
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);  // @cq
  MUST(pd != NULL && cq != NULL);
  MUST(ibv_close_device(context) == 0);
  puts("stub passed on");
  return 0;
}
