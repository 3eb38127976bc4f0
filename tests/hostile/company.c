// company clean|busy|leak|race: verbs of three threads, and memory of its own. Built plainly and with each sanitizer.
#include <pthread.h>

#include "scenario.h"

static struct ibv_context* context;
static int is_race, counter;

static void* work(void* unused) {
  (void)unused;
  struct ibv_pd* pd = ibv_alloc_pd(context);
  static __thread char buffer[64];
  for (int i = 0; i < 100; ++i) {
    char* own = malloc(100 + (size_t)i);
    memset(own, i, 100);
    struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
    MUST(mr != NULL);
    MUST(ibv_dereg_mr(mr) == 0);
    if (is_race) ++counter;  // no lock
    free(own);
  }
  MUST(ibv_dealloc_pd(pd) == 0);
  return NULL;
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  is_race = strcmp(argv[1], "race") == 0;
  context = open_device();
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) MUST(pthread_create(&threads[i], NULL, work, NULL) == 0);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);
  if (strcmp(argv[1], "busy") == 0) MUST(ibv_destroy_cq(cq) == EBUSY && ibv_dealloc_pd(pd) == EBUSY);
  MUST(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0);
  if (strcmp(argv[1], "leak") != 0) MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  puts("done");
  return 0;
}
