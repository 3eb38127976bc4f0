// A finding whose creating stack matches a suppression is counted and not told; it changes no status (B67, B84).
// RUN: on=both args="library" options="suppressions=@DIR@/list strict=1" exit=0
// EXPECT: SUMMARY: rdmacheck: nothing else, 3 suppressed
// EXPECT-JSON: summary.suppressed == 3
// EXPECT-JSON: summary.errors == 0
// EXPECT-JSON: findings[0].suppressed_by =~ *:takes_and_goes.so
//
// RUN: on=both args="other" options="suppressions=@DIR@/list strict=1" exit=23
// EXPECT: ERROR device-list-leak
// EXPECT: ERROR open-at-exit
//
// RUN: on=fake options="suppressions=/nowhere/list" args="none" exit=0
// EXPECT: TOLD cannot read the suppressions file /nowhere/list
#include <dlfcn.h>

#include "scenario.h"

// Run in a folder of its own, before the first verb reads the file.
static void write_list(const char* line) {
  FILE* file = fopen("list", "w");
  MUST(file != NULL && fprintf(file, "# held on purpose\n%s\n", line) > 0 && fclose(file) == 0);
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  if (strcmp(argv[1], "none") == 0) {
    MUST(ibv_close_device(open_device()) == 0);
    return 0;
  }
  write_list(strcmp(argv[1], "library") == 0 ? "*:takes_and_goes.so:known" : "leak-at-close:takes_and_goes.so:other rule");
  char path[512];
  snprintf(path, sizeof(path), "%s/takes_and_goes.so", getenv("SCENARIO_PROGRAMS"));
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  MUST(library != NULL);
  void (*take)(void) = (void (*)(void))dlsym(library, "take_things");
  take();
  return 0;
}
