// A library that registers memory on a PD it is given.
#include <infiniband/verbs.h>

static char buffer[64];

struct ibv_mr* make_an_mr(struct ibv_pd* pd) {
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
  return mr != NULL && mr->lkey != 0 ? mr : NULL;
}
