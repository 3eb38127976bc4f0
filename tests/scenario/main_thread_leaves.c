// main() ends by pthread_exit, and the process with its last thread, also where a thread of ours waits for snapshots.
// SANITIZER: a thread of ThreadSanitizer's own keeps the process, without us too.
// RUN: on=fake args="clean" options="strict=1" timeout=10 exit=0
// EXPECT-NOTHING
// SAME-OUTPUT
//
// RUN: on=fake args="clean" options="strict=1:snapshot_signal=10" timeout=10 exit=0
// EXPECT-NOTHING
// SAME-OUTPUT
//
// RUN: on=fake args="leak" options="snapshot_signal=10" timeout=10 exit=23
// EXPECT: ERROR leak-at-close: ibv_close_device(fake0) leaves 1 object alive: 1 pd
// SAME-OUTPUT
//
// A snapshot can still be asked for when main() has left.
// RUN: on=fake args="asks" options="snapshot_signal=10" timeout=10 exit=0
// EXPECT: TOLD {{.*}}snapshot
// SAME-OUTPUT
#include <signal.h>

#include "event_scenario.h"

static const char* how;

static void at_exit(void) { printf("handlers ran\n"); }

static void await_end_of_main(void) {
  char path[64], text[256] = "", state = 0;
  snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
  for (const struct timespec moment = {0, 1000 * 1000}; state != 'Z'; nanosleep(&moment, NULL)) {
    const int fd = open(path, O_RDONLY);
    MUST(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && close(fd) == 0);
    MUST(sscanf(strrchr(text, ')'), ") %c", &state) == 1);
  }
}

static void* work(void* unused) {
  await_end_of_main();
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  MUST(pd != NULL);
  if (strcmp(how, "asks") == 0 && getenv("RDMACHECK_OPTIONS") != NULL) {
    MUST(kill(getpid(), SIGUSR1) == 0);
    await_in_report("snapshot");
  }
  if (strcmp(how, "leak") != 0) MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return unused;
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  how = argv[1];
  atexit(at_exit);
  start(work, NULL);
  pthread_exit(NULL);
}
