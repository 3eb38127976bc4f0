/* Calls each function of rdmacheck.h, as a user's program would; prints what it got.
 * Also C89 and C++98. */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

#include <rdmacheck/rdmacheck.h>

int main(int argc, char** argv) {
  struct ibv_device** list = ibv_get_device_list(NULL);
  struct ibv_context* context;
  struct ibv_pd *kept, *unjudged, *grown, *second;
  int checkpoint;
  if (list == NULL || argc < 2) return 99;
  context = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  errno = 77;
  printf("active %d\n", rdmacheck_active());
  checkpoint = rdmacheck_growth_begin();
  printf("checkpoint %s\n", checkpoint > 0 ? "positive" : checkpoint == 0 ? "0" : "negative");
  grown = ibv_alloc_pd(context);
  printf("growth %d\n", rdmacheck_growth_end(checkpoint));
  printf("no such checkpoint %d\n", rdmacheck_growth_end(checkpoint + 1000));
  kept = ibv_alloc_pd(context);
  rdmacheck_ignore(kept);
  rdmacheck_ignore(NULL);
  rdmacheck_ignore("no handle");
  rdmacheck_disable();
  rdmacheck_disable();
  rdmacheck_enable();
  unjudged = ibv_alloc_pd(context);
  rdmacheck_enable();
  rdmacheck_enable(); /* one too many: nothing happens */
  second = ibv_alloc_pd(context);
  ibv_dealloc_pd(grown);
  ibv_dealloc_pd(second);
  printf("snapshot %d, of no path %d\n", rdmacheck_snapshot(argv[1]), rdmacheck_snapshot(""));
  printf("errors %d\n", rdmacheck_check_now());
  ibv_dealloc_pd(NULL);
  printf("errors %d\n", rdmacheck_check_now());
  printf("errno %s\n", errno == 77 ? "kept" : "changed");
  ibv_close_device(context);
  return kept == NULL || unjudged == NULL;
}
