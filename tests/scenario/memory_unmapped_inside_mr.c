// Pages of a registered region are given back before the deregistration: normal for caches (B74, B75, B77, T12).
// RUN: on=both options="strict=1" exit=0
// EXPECT-NOTHING
#include <sys/mman.h>

#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  char* pages = (char*)mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MUST(pages != MAP_FAILED);
  struct ibv_mr* mr = ibv_reg_mr(pd, pages, 4 * 4096, IBV_ACCESS_LOCAL_WRITE);
  MUST(mr != NULL);
  MUST(madvise(pages + 4096, 4096, MADV_DONTNEED) == 0);
  MUST(munmap(pages + 2 * 4096, 4096) == 0);
  char* buffer = (char*)malloc(8192);
  struct ibv_mr* of_heap = ibv_reg_mr(pd, buffer, 8192, IBV_ACCESS_LOCAL_WRITE);
  MUST(of_heap != NULL);
  free(buffer);
  MUST(ibv_dereg_mr(of_heap) == 0);
  MUST(ibv_dereg_mr(mr) == 0);
  MUST(munmap(pages, 4 * 4096) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
