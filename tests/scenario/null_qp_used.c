// A create fails, the result is not looked at, and the next verb is called with NULL (uccl #922). What is no create and no destroy
// is forwarded after the report, and does what it does without us: here the handler sees the crash.
// RUN: on=fake args="modify" env="FAKE_FAIL=ibv_create_qp=ENOSYS" exit=23
// EXPECT: ERROR null-handle: ibv_modify_qp called with NULL qp
// EXPECT: the last failed create of this kind: ibv_create_qp failed with ENOSYS
// EXPECT: #0 main null_qp_used.c:@modify@ (
// EXPECT: #0 main null_qp_used.c:@create@ (
// EXPECT-OUT: crashed
//
// RUN: on=fake args="query" env="FAKE_FAIL=ibv_create_qp=ENOSYS" exit=23
// EXPECT: ERROR null-handle: ibv_query_qp called with NULL qp
// EXPECT-OUT: crashed
//
// RUN: on=fake args="ack" env="FAKE_FAIL=ibv_create_qp=ENOSYS" exit=23
// EXPECT: ERROR null-handle: ibv_ack_cq_events called with NULL cq
// EXPECT-OUT: crashed
//
// RUN: on=fake args="get" env="FAKE_FAIL=ibv_create_qp=ENOSYS" exit=23
// EXPECT: ERROR null-handle: ibv_get_cq_event called with NULL comp_channel
// EXPECT-OUT: crashed
//
// RUN: on=fake args="detach" env="FAKE_FAIL=ibv_create_qp=ENOSYS" exit=23
// EXPECT: ERROR null-handle: ibv_detach_mcast called with NULL qp; call not forwarded
// EXPECT-OUT: returned
//
// RUN: on=fake args="open" env="FAKE_FAIL=ibv_create_qp=ENOSYS" exit=23
// EXPECT: ERROR null-handle: ibv_open_device called with NULL device; call not forwarded
// EXPECT-OUT: returned
//
// RUN: on=fake args="nothing" env="FAKE_FAIL=ibv_create_qp=ENOSYS" exit=0
// EXPECT-NOTHING
#include <setjmp.h>
#include <signal.h>

#include "scenario.h"

static sigjmp_buf after;
static void on_crash(int signal_number) {
  (void)signal_number;
  siglongjmp(after, 1);
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_qp_init_attr init = qp_attr(IBV_QPT_UD, cq, NULL);
  struct ibv_qp* qp = ibv_create_qp(pd, &init);  // @create
  MUST(qp == NULL);
  signal(SIGSEGV, on_crash);
  signal(SIGABRT, on_crash);  // the fake libibverbs' word on NULL
  if (sigsetjmp(after, 1) == 0) {
    struct ibv_qp_attr attr;
    struct ibv_cq* got = NULL;
    void* of_cq = NULL;
    union ibv_gid gid;
    memset(&attr, 0, sizeof(attr));
    memset(&gid, 0, sizeof(gid));
    if (strcmp(argv[1], "modify") == 0) ibv_modify_qp(qp, &attr, IBV_QP_STATE);  // @modify
    if (strcmp(argv[1], "query") == 0) ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);
    if (strcmp(argv[1], "ack") == 0) ibv_ack_cq_events(NULL, 1);
    if (strcmp(argv[1], "get") == 0) ibv_get_cq_event(NULL, &got, &of_cq);
    if (strcmp(argv[1], "detach") == 0) MUST(ibv_detach_mcast(qp, &gid, 0) == EINVAL);
    if (strcmp(argv[1], "open") == 0) {
      struct ibv_device* none = NULL;
      errno = 0;
      MUST(ibv_open_device(none) == NULL && errno == EINVAL);
    }
    puts("returned");
  } else {
    puts("crashed");
  }
  MUST(ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}
