// A PD is used by an MR that was registered by writing the kernel's command to the context's descriptor, past every verb:
// no tracked object explains the refusal, and none is made up at the close.
// RUN: on=device args="raw" exit=23
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY: no tracked child explains it
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY and no later try succeeded before its context was closed
// EXPECT: no tracked child explains it: what uses this pd was created where rdmacheck does not look
// EXPECT-NOT: has been destroyed since
// EXPECT-ALSO: ERROR leak-at-close: ibv_close_device(rxe0) leaves 1 object alive: 1 pd
//
// Beside it an MR that a verb has made: it explains the first refusal, but not the second.
// RUN: on=device args="both" exit=23
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY: 1 mr still uses it
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY: no tracked child explains it
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: no tracked child explains it: what uses this pd
// EXPECT-NOT: has been destroyed since
// EXPECT-ALSO: ERROR leak-at-close
//
// RUN: on=device args="none" options="strict=1" exit=0
// EXPECT-NOTHING
#include <rdma/ib_user_verbs.h>

#include "scenario.h"

static char buffer[4096] __attribute__((aligned(4096)));

static void register_past_us(struct ibv_context* context, struct ibv_pd* pd) {
  struct {
    struct ib_uverbs_cmd_hdr header;
    struct ib_uverbs_reg_mr command;
  } request;
  struct ib_uverbs_reg_mr_resp response;
  memset(&request, 0, sizeof(request));
  request.header.command = IB_USER_VERBS_CMD_REG_MR;
  request.header.in_words = sizeof(request) / 4;
  request.header.out_words = sizeof(response) / 4;
  request.command.response = (uintptr_t)&response;
  request.command.start = request.command.hca_va = (uintptr_t)buffer;
  request.command.length = sizeof(buffer);
  request.command.pd_handle = pd->handle;
  request.command.access_flags = IBV_ACCESS_LOCAL_WRITE;
  MUST(write(context->cmd_fd, &request, sizeof(request)) == (ssize_t)sizeof(request));
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  if (strcmp(argv[1], "none") == 0) {
    MUST(ibv_dealloc_pd(pd) == 0);
  } else {
    register_past_us(context, pd);
    if (strcmp(argv[1], "both") == 0) {
      struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
      MUST(mr != NULL && ibv_dealloc_pd(pd) == EBUSY && ibv_dereg_mr(mr) == 0);
    }
    MUST(ibv_dealloc_pd(pd) == EBUSY);
  }
  MUST(ibv_close_device(context) == 0);
  return 0;
}
