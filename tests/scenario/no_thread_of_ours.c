// No thread is made in a program whose destroys have nothing to wait for.
// RUN: on=both options="strict=1" exit=0
// EXPECT-NOTHING
// EXPECT-OUT: 1 thread
// SAME-OUTPUT
#include <dirent.h>

#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_comp_channel* channel = ibv_create_comp_channel(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, channel, 0);
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_destroy_comp_channel(channel) == 0);
  MUST(ibv_close_device(context) == 0);
  DIR* tasks = opendir("/proc/self/task");
  int threads = -2;
  while (readdir(tasks) != NULL) ++threads;
  printf("%d thread%s\n", threads, threads == 1 ? "" : "s");
  closedir(tasks);
  return 0;
}
