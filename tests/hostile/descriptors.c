// descriptors COUNT: a context and COUNT completion channels, or as many as there are descriptors for (0); then all but
// one are released.
#include "scenario.h"

__attribute__((noinline)) static struct ibv_comp_channel* keep_one(struct ibv_context* context) {
  struct ibv_comp_channel* channel = ibv_create_comp_channel(context);
  __asm__ volatile("");
  return channel;
}

int main(int argc, char** argv) {
  const int wanted = argc > 1 ? atoi(argv[1]) : 0;
  struct ibv_device** list = ibv_get_device_list(NULL);
  if (list == NULL || list[0] == NULL) {
    printf("no list: %s\n", strerror(errno));
    return 3;
  }
  struct ibv_context* context = ibv_open_device(list[0]);
  printf("open: %s\n", context == NULL ? strerror(errno) : "yes");
  ibv_free_device_list(list);
  if (context == NULL) return 4;
  static struct ibv_comp_channel* channels[4096];
  int made = 0;
  while ((wanted == 0 || made < wanted) && made < 4096 && (channels[made] = keep_one(context)) != NULL) ++made;
  printf("%d channels, then %s\n", made, made == wanted ? "enough" : strerror(errno));
  // The program opens files of its own at the limit.
  const int one_more = dup(0);
  printf("dup: %s\n", one_more < 0 ? strerror(errno) : "yes");
  for (int i = 1; i < made; ++i) MUST(ibv_destroy_comp_channel(channels[i]) == 0);
  MUST(ibv_close_device(context) == 0);
  return made == wanted ? 0 : 5;
}
