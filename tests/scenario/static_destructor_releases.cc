// A static object of the program, and one of a library, release their verbs after exit() began: not a leak (T14, B82).
// RUN: on=both options="strict=1" exit=0
// EXPECT-NOTHING
// EXPECT-JSON: summary.kinds.pd.alive == 0
// EXPECT-JSON: summary.kinds.pd.created == 2
// SAME-OUTPUT
#include <dlfcn.h>

#include <string>

#include "scenario.h"

namespace {

struct Domain {
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ~Domain() {
    MUST(pd == nullptr || ibv_dealloc_pd(pd) == 0);
    MUST(context == nullptr || ibv_close_device(context) == 0);
    puts("released late");
  }
};
Domain domain;

}  // namespace

int main() {
  domain.context = open_device();
  domain.pd = ibv_alloc_pd(domain.context);
  MUST(domain.pd != nullptr);
  const std::string folder = getenv("SCENARIO_PROGRAMS");
  void* library = dlopen((folder + "/releases_in_destructor.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fprintf(stderr, "%s\n", dlerror());
  MUST(library != nullptr);
  auto hold = reinterpret_cast<void (*)(ibv_context*)>(dlsym(library, "hold_a_pd"));
  MUST(hold != nullptr);
  hold(open_device());
  return 0;
}
