// Two threads destroy one QP; the first is still inside (B09, B35). Both are shown.
// RUN: on=fake args="same" exit=23
// EXPECT: ERROR double-destroy: ibv_destroy_qp of qp #{{.*}} while another thread is destroying it; call not forwarded
// EXPECT: is inside ibv_destroy_qp of it
// EXPECT: destroyed again here
// EXPECT: #0 main double_destroy_two_threads.c:@second@ (
// EXPECT: meanwhile in another thread
// EXPECT: #0 destroy double_destroy_two_threads.c:@first@ (
// EXPECT-JSON: findings[0].stacks[role=other-thread].frames[0].function == destroy
//
// RUN: on=fake args="other" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="same-after" exit=23
// EXPECT: ERROR double-destroy: ibv_destroy_qp of qp #{{.*}}, which was destroyed earlier
// EXPECT: it was destroyed by thread {{\d+}}
#include <pthread.h>

#include "scenario.h"

static void* destroy(void* qp) {
  MUST(ibv_destroy_qp((struct ibv_qp*)qp) == 0);  // @first
  return NULL;
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);
  struct ibv_qp* other = ibv_create_qp(pd, &attr);
  MUST(qp != NULL && other != NULL);
  pthread_t thread;
  if (on_stand_in()) fake_block("ibv_destroy_qp");
  MUST(pthread_create(&thread, NULL, destroy, qp) == 0);
  if (strcmp(argv[1], "same") == 0) {
    MUST(fake_await_waiters("ibv_destroy_qp", 1) == 0);
    MUST(ibv_destroy_qp(qp) == EINVAL);  // @second
    fake_unblock("ibv_destroy_qp");
    MUST(pthread_join(thread, NULL) == 0);
  } else if (strcmp(argv[1], "other") == 0) {
    MUST(fake_await_waiters("ibv_destroy_qp", 1) == 0);
    fake_unblock("ibv_destroy_qp");
    MUST(ibv_destroy_qp(other) == 0);
    other = NULL;
    MUST(pthread_join(thread, NULL) == 0);
  } else {
    MUST(pthread_join(thread, NULL) == 0);
    MUST(ibv_destroy_qp(qp) == EINVAL);
  }
  MUST(other == NULL || ibv_destroy_qp(other) == 0);
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
