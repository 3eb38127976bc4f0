// Threads that make, use and destroy on one context, with events, while another takes snapshots: nothing to report, and
// nothing for ThreadSanitizer to report of us (scripts/test-sanitizers).
// RUN: on=both exit=0 options="strict=1" args="quiet"
// EXPECT-NOTHING
// EXPECT-JSON: summary.kinds.qp.alive == 0
// EXPECT-JSON: summary.kinds.mr.created == 160
// SAME-OUTPUT
//
// The same with faults in each round, all of them counted.
// RUN: on=fake exit=23 options="log_path=/dev/null:event_races=always" args="faults"
// EXPECT-JSON: findings[rule=double-destroy].severity == error
// EXPECT-JSON: findings[rule=null-handle].count == 40
// EXPECT-JSON: findings[rule=busy-destroy].severity == note
// EXPECT-JSON: summary.kinds.mr.alive == 0
#include <pthread.h>
#include <stdatomic.h>

#include "event_scenario.h"
#include "../../interpose/include/rdmacheck/rdmacheck.h"

enum { kThreads = 4 };
static struct ibv_context* context;
static struct ibv_pd* shared_pd;
static int faults;
static atomic_int stop;

static void* work(void* unused) {
  static char memory[kThreads][64];
  static atomic_int number;
  char* own = memory[number++ % kThreads];
  for (int i = 0; i < (faults ? 10 : 40); ++i) {
    struct ibv_pd* pd = ibv_alloc_pd(context);
    struct ibv_comp_channel* channel = ibv_create_comp_channel(context);
    struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, channel, 0);
    struct ibv_mr* mr = ibv_reg_mr(i % 2 ? pd : shared_pd, own, 64, IBV_ACCESS_LOCAL_WRITE);
    struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
    struct ibv_qp* qp = ibv_create_qp(shared_pd, &attr);
    MUST(pd != NULL && mr != NULL && qp != NULL && to_init(qp) == 0);
    if (on_stand_in()) {
      MUST(ibv_req_notify_cq(cq, 0) == 0 && fake_post_cq_event(cq) == 0);
      ibv_ack_cq_events(take(channel), 1);
    }
    if (faults) {
      if (i % 2) MUST(ibv_dealloc_pd(pd) == EBUSY);
      ibv_destroy_qp(NULL);
    }
    MUST(ibv_destroy_qp(qp) == 0);
    MUST(ibv_dereg_mr(mr) == 0);
    if (faults) ibv_dereg_mr(mr);
    MUST(ibv_destroy_cq(cq) == 0);
    MUST(ibv_destroy_comp_channel(channel) == 0);
    MUST(ibv_dealloc_pd(pd) == 0);
  }
  return unused;
}

static void* look(void* unused) {
  while (!stop) {
    MUST(rdmacheck_check_now() == 0 || faults);
    rdmacheck_snapshot("snapshot-of-threads");
    const struct timespec moment = {0, 5 * 1000 * 1000};
    nanosleep(&moment, NULL);
  }
  return unused;
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  faults = strcmp(argv[1], "faults") == 0;
  context = open_device();
  shared_pd = ibv_alloc_pd(context);
  pthread_t threads[kThreads], looker = start(look, NULL);
  for (int i = 0; i < kThreads; ++i) threads[i] = start(work, NULL);
  for (int i = 0; i < kThreads; ++i) join(threads[i]);
  stop = 1;
  join(looker);
  MUST(ibv_dealloc_pd(shared_pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
