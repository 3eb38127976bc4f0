// Loads libibverbs by dlopen and asks for each verb with the version it was made for, as NCCL does; younger ones are
// optional (B92, B93, B95). What leaks is found, and every answer is as without the library.
// RUN: on=both args="leak" exit=23
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 4 objects alive: 1 pd, 1 cq, 1 qp, 1 mr
// EXPECT: #0 use nccl_like.c:@pd@ (
// EXPECT: #0 use nccl_like.c:@cq@ (
// EXPECT: #0 use nccl_like.c:@qp@ (
// EXPECT: #0 use nccl_like.c:@mr@ (
// EXPECT-JSON: environment.hooks.dlsym >= 10
// SAME-OUTPUT
//
// RUN: on=fake lib=lib44 args="leak" exit=23
// EXPECT: ERROR leak-at-close
// EXPECT-OUT: ibv_reg_mr_ex@IBVERBS_1.15 no
// SAME-OUTPUT
//
// RUN: on=both args="clean" options="strict=1" exit=0
// EXPECT-NOTHING
// LINK: nothing
#include <dlfcn.h>

#include "scenario.h"

static void* library;

static void* ask(const char* name, const char* version) {
  void* function = dlvsym(library, name, version);
  printf("%s@%s %s\n", name, version, function != NULL ? "yes" : "no");
  if (function == NULL) (void)dlerror();
  return function;
}

static __attribute__((noinline)) void use(int clean) {
  struct ibv_device** (*get_list)(int*) = (struct ibv_device * *(*)(int*)) ask("ibv_get_device_list", "IBVERBS_1.1");
  void (*free_list)(struct ibv_device**) = (void (*)(struct ibv_device**))ask("ibv_free_device_list", "IBVERBS_1.1");
  struct ibv_context* (*open_it)(struct ibv_device*) =
      (struct ibv_context * (*)(struct ibv_device*)) ask("ibv_open_device", "IBVERBS_1.1");
  int (*close_it)(struct ibv_context*) = (int (*)(struct ibv_context*))ask("ibv_close_device", "IBVERBS_1.1");
  struct ibv_pd* (*alloc_pd)(struct ibv_context*) = (struct ibv_pd * (*)(struct ibv_context*)) ask("ibv_alloc_pd", "IBVERBS_1.1");
  int (*dealloc_pd)(struct ibv_pd*) = (int (*)(struct ibv_pd*))ask("ibv_dealloc_pd", "IBVERBS_1.1");
  struct ibv_cq* (*create_cq)(struct ibv_context*, int, void*, struct ibv_comp_channel*, int) =
      (struct ibv_cq * (*)(struct ibv_context*, int, void*, struct ibv_comp_channel*, int)) ask("ibv_create_cq", "IBVERBS_1.1");
  int (*destroy_cq)(struct ibv_cq*) = (int (*)(struct ibv_cq*))ask("ibv_destroy_cq", "IBVERBS_1.1");
  struct ibv_qp* (*create_qp)(struct ibv_pd*, struct ibv_qp_init_attr*) =
      (struct ibv_qp * (*)(struct ibv_pd*, struct ibv_qp_init_attr*)) ask("ibv_create_qp", "IBVERBS_1.1");
  int (*destroy_qp)(struct ibv_qp*) = (int (*)(struct ibv_qp*))ask("ibv_destroy_qp", "IBVERBS_1.1");
  struct ibv_mr* (*reg_mr)(struct ibv_pd*, void*, size_t, uint64_t, unsigned) =
      (struct ibv_mr * (*)(struct ibv_pd*, void*, size_t, uint64_t, unsigned)) ask("ibv_reg_mr_iova2", "IBVERBS_1.8");
  int (*dereg_mr)(struct ibv_mr*) = (int (*)(struct ibv_mr*))ask("ibv_dereg_mr", "IBVERBS_1.1");
  (void)ask("ibv_query_ece", "IBVERBS_1.10");
  (void)ask("ibv_set_ece", "IBVERBS_1.10");
  (void)ask("ibv_reg_dmabuf_mr", "IBVERBS_1.12");
  (void)ask("ibv_reg_mr_ex", "IBVERBS_1.15");
  (void)ask("ibv_create_comp_channel", "IBVERBS_1.0");
  (void)ask("ibv_alloc_pd", "IBVERBS_1.0");
  (void)ask("ibv_alloc_pd", "IBVERBS_9.9");
  (void)ask("ibv_make_coffee", "IBVERBS_1.1");

  struct ibv_device** list = get_list(NULL);
  struct ibv_context* context = open_it(list[0]);
  free_list(list);
  struct ibv_pd* pd = alloc_pd(context);  // @pd
  struct ibv_cq* cq = create_cq(context, 4, NULL, NULL, 0);  // @cq
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  struct ibv_qp* qp = create_qp(pd, &attr);  // @qp
  static char buffer[64];
  struct ibv_mr* mr = reg_mr(pd, buffer, sizeof(buffer), (uintptr_t)buffer, 0);  // @mr
  MUST(qp != NULL && mr != NULL);
  if (clean) {
    MUST(dereg_mr(mr) == 0);
    MUST(destroy_qp(qp) == 0);
    MUST(destroy_cq(cq) == 0);
    MUST(dealloc_pd(pd) == 0);
  }
  MUST(close_it(context) == 0);
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  library = dlopen("libibverbs.so.1", RTLD_NOW);
  MUST(library != NULL);
  use(strcmp(argv[1], "clean") == 0);
  return 0;
}
