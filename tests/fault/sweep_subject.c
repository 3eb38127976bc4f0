// What `run --sweep` is tried on, on the fake libibverbs: two rounds of queues. Words:
//   leaky   where a QP cannot be made, its PD and CQ are forgotten
//   fixed   every path releases what it has
//   hangs   where a QP cannot be made, it waits forever
//   crashes where a CQ cannot be made, it goes on with NULL
//   gives-up  any failure is exit(2) with everything open
#include "scenario.h"

struct queues {
  struct ibv_pd* pd;
  struct ibv_cq* cq;
  struct ibv_qp* qp;
};
static const char* mode;
static int is(const char* word) { return strcmp(mode, word) == 0; }

static void release(struct queues* queues) {
  if (queues->qp != NULL) ibv_destroy_qp(queues->qp);
  if (queues->cq != NULL) ibv_destroy_cq(queues->cq);
  if (queues->pd != NULL) ibv_dealloc_pd(queues->pd);
}

__attribute__((noinline)) static struct ibv_pd* make_pd(struct ibv_context* context) { return ibv_alloc_pd(context); }

__attribute__((noinline)) static int make_queues(struct ibv_context* context, struct queues* queues) {
  memset(queues, 0, sizeof(*queues));
  queues->pd = make_pd(context);
  if (queues->pd == NULL) return -1;
  queues->cq = ibv_create_cq(context, 4, NULL, NULL, 0);  // @cq
  if (queues->cq == NULL) {
    if (is("crashes")) return *(volatile int*)&queues->cq->cqe;
    ibv_dealloc_pd(queues->pd);
    return -1;
  }
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, queues->cq, NULL);
  queues->qp = ibv_create_qp(queues->pd, &attr);  // @qp
  if (queues->qp == NULL) {
    while (is("hangs")) pause();
    if (!is("leaky") && !is("gives-up")) release(queues);
    return -1;
  }
  return 0;
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  mode = argv[1];
  struct ibv_device** list = ibv_get_device_list(NULL);
  if (list == NULL) return 1;
  struct ibv_context* context = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  if (context == NULL) return 1;
  int failed = 0;
  for (int i = 0; i < 2; ++i) {
    struct queues queues;
    if (make_queues(context, &queues) != 0) {
      failed = 1;
      if (is("gives-up")) exit(2);
      continue;
    }
    release(&queues);
  }
  if (ibv_close_device(context) != 0) return 1;
  return failed;
}
