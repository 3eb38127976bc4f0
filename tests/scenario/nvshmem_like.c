// Loads libibverbs by dlopen and asks without a version, as NVSHMEM does. A verb that this libibverbs lacks stays NULL.
// RUN: on=both exit=23
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 2 objects alive: 1 pd, 1 mr
// EXPECT: #0 main nvshmem_like.c:@pd@ (
// EXPECT: #0 main nvshmem_like.c:@mr@ (
// SAME-OUTPUT
//
// RUN: on=fake lib=lib44 exit=23
// EXPECT-OUT: ibv_reg_mr_ex no
// EXPECT-OUT: ibv_create_comp_cntr no
// EXPECT: ERROR leak-at-close
// SAME-OUTPUT
//
// RUN: on=fake lib=lib62 exit=23
// EXPECT-OUT: ibv_reg_mr_ex yes
// EXPECT-OUT: ibv_create_comp_cntr no
// EXPECT: ERROR leak-at-close
// SAME-OUTPUT
// LINK: nothing
#include <dlfcn.h>

#include "scenario.h"

static void* library;

static void* ask(const char* name) {
  void* function = dlsym(library, name);
  const char* error = dlerror();
  printf("%s %s %s\n", name, function != NULL ? "yes" : "no", error != NULL ? strrchr(error, ':') : "");
  return function;
}

int main(void) {
  library = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_LOCAL);
  MUST(library != NULL);
  struct ibv_device** (*get_list)(int*) = (struct ibv_device * *(*)(int*)) ask("ibv_get_device_list");
  void (*free_list)(struct ibv_device**) = (void (*)(struct ibv_device**))ask("ibv_free_device_list");
  struct ibv_context* (*open_it)(struct ibv_device*) = (struct ibv_context * (*)(struct ibv_device*)) ask("ibv_open_device");
  int (*close_it)(struct ibv_context*) = (int (*)(struct ibv_context*))ask("ibv_close_device");
  struct ibv_pd* (*alloc_pd)(struct ibv_context*) = (struct ibv_pd * (*)(struct ibv_context*)) ask("ibv_alloc_pd");
  struct ibv_mr* (*reg)(struct ibv_pd*, void*, size_t, int) =
      (struct ibv_mr * (*)(struct ibv_pd*, void*, size_t, int)) ask("ibv_reg_mr");
  (void)ask("ibv_reg_mr_ex");
  (void)ask("ibv_create_comp_cntr");
  (void)ask("ibv_make_coffee");
  struct ibv_device** list = get_list(NULL);
  struct ibv_context* context = open_it(list[0]);
  free_list(list);
  struct ibv_pd* pd = alloc_pd(context);  // @pd
  static char buffer[64];
  struct ibv_mr* mr = reg(pd, buffer, sizeof(buffer), 0);  // @mr
  MUST(mr != NULL);
  MUST(close_it(context) == 0);
  return 0;
}
