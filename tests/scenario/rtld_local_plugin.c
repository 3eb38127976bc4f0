// Neither the program nor its global scope has libibverbs: a plugin that links it comes in by an RTLD_LOCAL dlopen.
// RUN: on=both exit=23
// EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 2 objects alive: 1 pd, 1 mw
// EXPECT: #0 leak_two leaks_two.c:{{\d+}} (leaks_two.so+0x
// EXPECT: #0 leak_two leaks_two.c:{{\d+}} (leaks_two.so+0x
// SAME-OUTPUT
// LINK: nothing
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  char path[512];
  snprintf(path, sizeof(path), "%s/leaks_two.so", getenv("SCENARIO_PROGRAMS"));
  void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (plugin == NULL) return printf("%s\n", dlerror()), 97;
  int (*leak)(void) = (int (*)(void))dlsym(plugin, "leak_two");
  if (leak == NULL) return 96;
  printf("plugin: %d\n", leak());
  return 0;
}

// RDMA-CORE: 44: the soft device of 33 has no memory windows
