// A refusal that no tracked object explains, never made good: no reason is invented for it, neither then nor at the end.
// What was known when it happened counts, also if another refusal of the object had a reason.
// RUN: on=fake env="FAKE_FAIL=ibv_dealloc_pd=EBUSY" args="none" exit=23
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY: no tracked child explains it
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY and no later try succeeded before its context was closed
// EXPECT: no tracked child explains it: what uses this pd was created where rdmacheck does not look, or by another process
// EXPECT-NOT: has been destroyed since
// EXPECT-ALSO: ERROR leak-at-close
//
// RUN: on=fake env="FAKE_FAIL=ibv_dealloc_pd=EBUSY" args="none exit" exit=23
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY: no tracked child explains it
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY and no later try succeeded before the process ended
// EXPECT: no tracked child explains it: what uses this pd
// EXPECT-NOT: has been destroyed since
// EXPECT-ALSO: WARNING open-at-exit
//
// An MR explains the first refusal; it is deregistered, and the second one has no reason.
// RUN: on=fake env="FAKE_FAIL=ibv_dealloc_pd@2=EBUSY" args="later" exit=23
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY: 1 mr still uses it
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY: no tracked child explains it
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY and no later try succeeded before its context was closed
// EXPECT: the last of 2 times, 1 time without a tracked child that explains it
// EXPECT: no tracked child explains it: what uses this pd
// EXPECT-NOT: has been destroyed since
// EXPECT-ALSO: ERROR leak-at-close
// EXPECT-JSON: summary.notes == 0
// EXPECT-JSON: summary.errors == 2
//
// The other way round: the reason that was seen last is not the whole one.
// RUN: on=fake env="FAKE_FAIL=ibv_dealloc_pd=EBUSY" args="earlier" exit=23
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY: no tracked child explains it
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY and no later try succeeded before its context was closed
// EXPECT: no tracked child explains it: what uses this pd
// EXPECT-NOT: has been destroyed since
// EXPECT-ALSO: ERROR leak-at-close
//
// Another call that fails on the object later is not its refusal.
// RUN: on=fake env="FAKE_FAIL=ibv_dealloc_pd=EBUSY,ibv_reg_mr=EINVAL" args="reg" exit=23
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY and no later try succeeded before its context was closed
// EXPECT-ALSO: ERROR leak-at-close
//
// RUN: on=fake env="FAKE_FAIL=ibv_dealloc_pd=EBUSY" args="retried" exit=0
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #{{.*}} returned EBUSY: no tracked child explains it
// EXPECT-JSON: findings[0].resolved == 1
#include "scenario.h"

static char buffer[64];

int main(int argc, char** argv) {
  MUST(argc >= 2);
  const char* how = argv[1];
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  if (strcmp(how, "later") == 0) {
    struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
    MUST(ibv_dealloc_pd(pd) == EBUSY && ibv_dereg_mr(mr) == 0);
  }
  MUST(ibv_dealloc_pd(pd) == EBUSY);
  if (strcmp(how, "earlier") == 0) {
    struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
    MUST(ibv_dealloc_pd(pd) == EBUSY && ibv_dereg_mr(mr) == 0);
  }
  if (strcmp(how, "reg") == 0) MUST(ibv_reg_mr(pd, buffer, sizeof(buffer), 0) == NULL);
  if (strcmp(how, "retried") == 0) MUST(ibv_dealloc_pd(pd) == 0);
  if (argc == 2) MUST(ibv_close_device(context) == 0);
  return 0;
}
