// The program's file and a library's are deleted before the first verb, and another file lies at the library's path: the
// functions are named all the same.
// RUN: on=fake args="delete" exit=0
// EXPECT: WARNING device-list-leak: 1 device list
// EXPECT: #0 take_things
// EXPECT: main files_deleted_meanwhile.c:@call@ (
// EXPECT: WARNING open-at-exit
// EXPECT: 1 pd
// EXPECT: #0 take_things
//
// RUN: on=fake args="keep" exit=0
// EXPECT: WARNING device-list-leak: 1 device list
// EXPECT: #0 take_things takes_and_goes.c:{{\d+}} (
// EXPECT: main files_deleted_meanwhile.c:@call@ (
// EXPECT: WARNING open-at-exit
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "scenario.h"

static void copy(const char* from, const char* to) {
  const int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
  struct stat status;
  MUST(in >= 0 && out >= 0 && fstat(in, &status) == 0);
  for (off_t left = status.st_size; left > 0;) {
    const ssize_t n = sendfile(out, in, NULL, (size_t)left);
    MUST(n > 0);
    left -= n;
  }
  close(in);
  close(out);
}

int main(int argc, char** argv) {
  char library[512], path[64], program[64];
  MUST(argc >= 2);
  const int deletes = strcmp(argv[1], "delete") == 0;
  snprintf(program, sizeof(program), "/tmp/files_deleted.%d", (int)getpid());
  if (deletes && argc == 2) {
    // As a copy of itself, which may be deleted.
    copy("/proc/self/exe", program);
    char again[] = "again";
    char* arguments[] = {program, argv[1], again, NULL};
    execv(program, arguments);
    MUST(0);
  }
  snprintf(library, sizeof(library), "%s/takes_and_goes.so", getenv("SCENARIO_PROGRAMS"));
  snprintf(path, sizeof(path), "/tmp/files_deleted.%d.so", (int)getpid());
  copy(library, path);
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  MUST(handle != NULL);
  void (*take)(void) = (void (*)(void))dlsym(handle, "take_things");
  MUST(take != NULL);
  if (deletes) {
    MUST(unlink(program) == 0 && unlink(path) == 0);
    copy("/bin/true", path);
  }
  take();  // @call
  MUST(unlink(path) == 0);
  return 0;
}
