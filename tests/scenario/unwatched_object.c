// verify=kernel: objects that are made by writing the kernel's commands to the context's descriptor, past every verb.
//
// At a close that leaves nothing: a PD and an MR.
// RUN: on=device args="close" options="verify=kernel" exit=0
// EXPECT: WARNING unwatched-object: the kernel lists 1 pd of this process on rxe0 whose creation was not seen: pdn={{\d+}}
// EXPECT: this is the first comparison with the kernel's list
// EXPECT: no untracked creator was seen
// EXPECT: called here, thread
// EXPECT: #0 main unwatched_object.c:@close@ (
// EXPECT: WARNING unwatched-object: the kernel lists 2 mr of this process on rxe0 whose creation was not seen: lkey=0x{{\w+}}, lkey=0x{{\w+}}
// EXPECT: SUMMARY: rdmacheck: 2 warnings (unwatched-object 2)
// EXPECT-JSON: findings[object.kind=mr].verb == ibv_close_device
// EXPECT-JSON: environment.verified[0] == context
// EXPECT-JSON: process.exit_status == 0
//
// RUN: on=device args="close" options="verify=kernel:strict=1" exit=23
// EXPECT: ERROR unwatched-object
// EXPECT: ERROR unwatched-object
//
// At the end, and in a snapshot before it: each is reported once, and since when it is there.
// RUN: on=device args="snapshots" options="verify=kernel:check_at_exit=0" exit=0
// EXPECT: WARNING unwatched-object: the kernel lists 1 mr of this process on rxe0 whose creation was not seen: lkey=0x
// EXPECT: not in the kernel's list {{.*}} earlier
// EXPECT: WARNING unwatched-object: the kernel lists 1 pd of this process on rxe0 whose creation was not seen
// EXPECT: SUMMARY: rdmacheck: 2 warnings (unwatched-object 2)
//
// An MR that is destroyed past every verb is no leak.
// RUN: on=device args="destroyed" options="verify=kernel:strict=1" exit=0
// EXPECT-NOTHING
// EXPECT-JSON: environment.unwatched[0] == 1 mr destroyed where rdmacheck does not look: no longer in the kernel's list, and not counted as alive
//
// Passing variants: the option is not given; each listed kind by verbs, threads that exit, a forked child.
// RUN: on=device args="close" options="strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="verbs" options="verify=kernel:strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="threads" options="verify=kernel:strict=1" exit=0
// EXPECT-NOTHING
//
// RUN: on=device args="fork" options="verify=kernel:strict=1:check_at_exit=0" exit=0
// EXPECT-NOTHING
//
// Where the kernel has no such device, or is not asked, the report says that nothing was verified.
// RUN: on=fake args="verbs" options="verify=kernel:strict=1" exit=0
// EXPECT-NOTHING
// EXPECT-JSON: environment.unwatched exists
#include <pthread.h>
#include <rdma/ib_user_verbs.h>
#include <sys/wait.h>

#include "scenario.h"
#include "../../interpose/include/rdmacheck/rdmacheck.h"

static char buffer[8192] __attribute__((aligned(4096)));
static struct ibv_context* context;

#define COMMAND(number, type, response_type)                    \
  struct {                                                      \
    struct ib_uverbs_cmd_hdr header;                            \
    struct type command;                                        \
  } request;                                                    \
  struct response_type response;                                \
  memset(&request, 0, sizeof(request));                         \
  request.header.command = number;                              \
  request.header.in_words = sizeof(request) / 4;                \
  request.header.out_words = sizeof(response) / 4;              \
  request.command.response = (uintptr_t)&response

static void send_request(const void* request, size_t size) { MUST(write(context->cmd_fd, request, size) == (ssize_t)size); }

static unsigned raw_pd(void) {
  COMMAND(IB_USER_VERBS_CMD_ALLOC_PD, ib_uverbs_alloc_pd, ib_uverbs_alloc_pd_resp);
  send_request(&request, sizeof(request));
  return response.pd_handle;
}

static void raw_mr(unsigned pd_handle) {
  COMMAND(IB_USER_VERBS_CMD_REG_MR, ib_uverbs_reg_mr, ib_uverbs_reg_mr_resp);
  request.command.start = request.command.hca_va = (uintptr_t)buffer;
  request.command.length = 4096;
  request.command.pd_handle = pd_handle;
  request.command.access_flags = IBV_ACCESS_LOCAL_WRITE;
  send_request(&request, sizeof(request));
}

static void raw_dereg_mr(unsigned mr_handle) {
  struct {
    struct ib_uverbs_cmd_hdr header;
    struct ib_uverbs_dereg_mr command;
  } request;
  memset(&request, 0, sizeof(request));
  request.header.command = IB_USER_VERBS_CMD_DEREG_MR;
  request.header.in_words = sizeof(request) / 4;
  request.command.mr_handle = mr_handle;
  send_request(&request, sizeof(request));
}

static void snapshot(void) { MUST(rdmacheck_snapshot("/dev/null") == 0); }

static void by_verbs(void) {
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_srq_init_attr srq_attr = {.attr = {.max_wr = 4, .max_sge = 1}};
  struct ibv_srq* srq = ibv_create_srq(pd, &srq_attr);
  struct ibv_qp_init_attr qp_attr = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
                                     .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
  struct ibv_qp* qp = ibv_create_qp(pd, &qp_attr);
  MUST(pd && mr && cq && srq && qp);
  if (rdmacheck_active()) snapshot();
  MUST(ibv_destroy_qp(qp) == 0 && ibv_destroy_srq(srq) == 0 && ibv_destroy_cq(cq) == 0 && ibv_dereg_mr(mr) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
}

static void* in_thread(void* kept) {
  if (kept != NULL) {
    *(struct ibv_pd**)kept = ibv_alloc_pd(context);  // its thread exits, the kernel names none
    return NULL;
  }
  for (int i = 0; i < 100; ++i) {
    struct ibv_pd* pd = ibv_alloc_pd(context);
    struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
    MUST(pd && mr && ibv_dereg_mr(mr) == 0 && ibv_dealloc_pd(pd) == 0);
  }
  return NULL;
}

static void in_threads(void) {
  struct ibv_pd* kept = NULL;
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) MUST(pthread_create(&threads[i], NULL, in_thread, i == 0 ? &kept : NULL) == 0);
  for (int i = 0; i < 20 && rdmacheck_active(); ++i) snapshot();
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  if (rdmacheck_active()) snapshot();
  MUST(ibv_dealloc_pd(kept) == 0);
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  context = open_device();
  if (strcmp(argv[1], "close") == 0) {
    const unsigned pd = raw_pd();
    raw_mr(pd);
    raw_mr(pd);
  } else if (strcmp(argv[1], "snapshots") == 0) {
    snapshot();
    struct ibv_pd* pd = ibv_alloc_pd(context);
    MUST(pd != NULL);
    raw_mr(pd->handle);
    snapshot();
    snapshot();
    raw_pd();
    return 0;
  } else if (strcmp(argv[1], "destroyed") == 0) {
    struct ibv_pd* pd = ibv_alloc_pd(context);
    struct ibv_mr* mr = ibv_reg_mr(pd, buffer, 4096, IBV_ACCESS_LOCAL_WRITE);
    MUST(pd && mr);
    raw_dereg_mr(mr->handle);
    snapshot();
    MUST(ibv_dealloc_pd(pd) == 0);
  } else if (strcmp(argv[1], "verbs") == 0) {
    by_verbs();
  } else if (strcmp(argv[1], "threads") == 0) {
    in_threads();
  } else {
    struct ibv_pd* pd = ibv_alloc_pd(context);
    const pid_t child = fork();
    if (child == 0) return 0;
    waitpid(child, NULL, 0);
    snapshot();
    MUST(ibv_dealloc_pd(pd) == 0);
  }
  MUST(ibv_close_device(context) == 0);  // @close
  return 0;
}
