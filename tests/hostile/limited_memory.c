// limited_memory as|data STEP clean|leak|busy|thread: verbs under a limit that is STEP bytes above what is in use.
#include <pthread.h>
#include <sys/resource.h>

#include "scenario.h"

static void* in_thread(void* context) { return ibv_alloc_pd(context); }

static long pages(int column) {
  long value = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  for (int i = 0; i <= column; ++i) MUST(fscanf(file, "%ld", &value) == 1);
  fclose(file);
  return value * sysconf(_SC_PAGESIZE);
}

int main(int argc, char** argv) {
  MUST(argc == 4);
  const int data = strcmp(argv[1], "data") == 0;
  const rlim_t limit = (rlim_t)(pages(data ? 5 : 0) + atol(argv[2]));
  const struct rlimit limits = {limit, limit};
  MUST(setrlimit(data ? RLIMIT_DATA : RLIMIT_AS, &limits) == 0);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  MUST(pd != NULL);
  static char buffer[64];
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
  MUST(mr != NULL);
  if (strcmp(argv[3], "busy") == 0) printf("busy: %d\n", ibv_dealloc_pd(pd));
  if (strcmp(argv[3], "thread") == 0) {
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 1 << 16);
    void* made = NULL;
    const int rc = pthread_create(&thread, &attr, in_thread, context);
    printf("thread: %d\n", rc);
    if (rc == 0) pthread_join(thread, &made);
    if (made != NULL) ibv_dealloc_pd(made);
  }
  if (strcmp(argv[3], "leak") != 0) {
    MUST(ibv_dereg_mr(mr) == 0);
    MUST(ibv_dealloc_pd(pd) == 0);
  }
  MUST(ibv_close_device(context) == 0);
  puts("done");
  return 0;
}
