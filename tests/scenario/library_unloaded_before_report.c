// A dlopened library takes a device list and a PD, and is unloaded: its module, function and line are reported all the same
// (B81, B86).
// RUN: on=both exit=0
// EXPECT: WARNING device-list-leak: 1 device list
// EXPECT: #0 take_things takes_and_goes.c:{{\d+}} (takes_and_goes.so+0x
// EXPECT: WARNING open-at-exit
// EXPECT: 1 pd
// EXPECT: #0 take_things takes_and_goes.c:{{\d+}} (takes_and_goes.so+0x
// EXPECT-JSON: findings[object.kind=pd].stacks[role=created].frames[0].module =~ takes_and_goes.so
//
// RUN: on=both options="symbolize=0" exit=0
// EXPECT: WARNING device-list-leak: 1 device list
// EXPECT: #0 ?? ({{.*}}takes_and_goes.so+0x{{\w+}}) (BuildId: {{\w+}})
// EXPECT: WARNING open-at-exit
#include <dlfcn.h>

#include "scenario.h"

int main(void) {
  char path[512];
  snprintf(path, sizeof(path), "%s/takes_and_goes.so", getenv("SCENARIO_PROGRAMS"));
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  MUST(library != NULL);
  void (*take)(void) = (void (*)(void))dlsym(library, "take_things");
  MUST(take != NULL);
  take();
  MUST(dlclose(library) == 0);
  MUST(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == NULL);
  return 0;
}
