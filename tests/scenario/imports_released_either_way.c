// Imported PDs and MRs have two legal releases each, the parent domain is released by ibv_dealloc_pd (T10).
// RUN: on=fake options="strict=1" exit=0
// EXPECT-NOTHING
// EXPECT-JSON: summary.kinds.pd.alive == 0
// EXPECT-JSON: summary.kinds.mr.alive == 0
// EXPECT-JSON: summary.kinds.dm.alive == 0
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  static char buffer[64];
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
  struct ibv_alloc_dm_attr size;
  memset(&size, 0, sizeof(size));
  size.length = 64;
  struct ibv_dm* dm = ibv_alloc_dm(context, &size);
  MUST(mr != NULL && dm != NULL);
  struct ibv_dm* dm2 = ibv_import_dm(context, dm->handle);
  struct ibv_pd* pd2 = ibv_import_pd(context, pd->handle);
  struct ibv_mr* mr2 = ibv_import_mr(pd2, mr->handle);
  MUST(dm2 != NULL && pd2 != NULL && mr2 != NULL);
  ibv_unimport_mr(mr2);
  ibv_unimport_pd(pd2);
  ibv_unimport_dm(dm2);
  pd2 = ibv_import_pd(context, pd->handle);
  MUST(pd2 != NULL);
  ibv_unimport_pd(pd2);
  MUST(ibv_dereg_mr(mr) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_free_dm(dm) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
