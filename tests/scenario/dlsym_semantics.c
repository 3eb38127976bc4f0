// dlsym, dlvsym and dlerror answer everybody else as without the library: whose symbol comes next, what is missing, and
// the words of the error.
// RUN: on=both exit=0
// EXPECT-NOTHING
// SAME-OUTPUT
#include <dlfcn.h>

#include "scenario.h"

void* malloc_in_program(size_t size) { return malloc(size); }

static const char* file_of(void* address) {
  Dl_info info;
  if (address == NULL) return "NULL";
  if (dladdr(address, &info) == 0) return "no file";
  const char* slash = strrchr(info.dli_fname, '/');
  return slash != NULL ? slash + 1 : info.dli_fname;
}

static void show(const char* what, void* address) {
  const char* error = dlerror();
  printf("%s: %s; %s\n", what, file_of(address), error != NULL ? error : "no error");
  MUST(dlerror() == NULL);  // told once
}

int main(void) {
  show("default malloc", dlsym(RTLD_DEFAULT, "malloc"));
  show("next malloc", dlsym(RTLD_NEXT, "malloc"));
  show("default own", dlsym(RTLD_DEFAULT, "malloc_in_program"));
  show("next own", dlsym(RTLD_NEXT, "malloc_in_program"));
  show("default missing", dlsym(RTLD_DEFAULT, "no_such_symbol"));
  show("next missing", dlsym(RTLD_NEXT, "no_such_symbol"));
  show("version", dlvsym(RTLD_DEFAULT, "memcpy", "GLIBC_2.2.5"));
  show("wrong version", dlvsym(RTLD_DEFAULT, "malloc", "GLIBC_99"));
  void* self = dlopen(NULL, RTLD_NOW);
  show("self", dlsym(self, "malloc_in_program"));
  show("self missing", dlsym(self, "no_such_symbol"));
  dlclose(self);
  void* math = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
  show("library", dlsym(math, "cos"));
  show("library missing", dlsym(math, "ibv_alloc_pd_please"));
  show("verb not in that library", dlsym(math, "ibv_alloc_pd"));
  dlclose(math);
  void* verbs = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD);
  show("verb that nobody has", dlsym(verbs, "ibv_make_coffee"));
  show("verb of a version that nobody has", dlvsym(verbs, "ibv_alloc_pd", "IBVERBS_77"));
  printf("a verb is %s\n", dlsym(verbs, "ibv_alloc_pd") != NULL ? "there" : "missing");
  printf("a verb by default is %s\n", dlsym(RTLD_DEFAULT, "ibv_alloc_pd") != NULL ? "there" : "missing");
  printf("a verb by next is %s\n", dlsym(RTLD_NEXT, "ibv_alloc_pd") != NULL ? "there" : "missing");
  show("not a verb", dlsym(verbs, "ibv_wc_status_str"));
  MUST(verbs != NULL);
  struct ibv_context* context = open_device();
  MUST(ibv_close_device(context) == 0);
  return 0;
}
