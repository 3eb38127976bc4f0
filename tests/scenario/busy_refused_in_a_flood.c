// Many objects are each refused once and then destroyed, as careless programs tear down: one note with a count. The error
// that comes after all of them is there, in the status, the text and the JSON report.
// RUN: on=fake args="10100 leak" exit=23
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #{{\d+}} handle={{\d+}} returned EBUSY: 1 mr still uses it
// EXPECT: ERROR leak-at-close: ibv_close_device(fake0) leaves 1 object alive: 1 pd
// EXPECT: TOLD busy-destroy: 10099 more not shown: ibv_dealloc_pd at main busy_refused_in_a_flood.c:@refused@, 10100 times in all, 10100 objects, 10100 of them destroyed at a later try
// EXPECT: SUMMARY: rdmacheck: 1 error (leak-at-close 1), 1 note (busy-destroy 1 seen 10100 times)
// EXPECT-JSON: findings.length == 2
// EXPECT-JSON: findings[rule=busy-destroy].objects == 10100
// EXPECT-JSON: findings[rule=busy-destroy].resolved == 10100
// EXPECT-JSON: summary.errors == 1
// EXPECT-JSON: summary.kinds.pd.created == 10101
//
// RUN: on=fake args="10100 clean" exit=0
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: TOLD busy-destroy: 10099 more not shown
// EXPECT-JSON: summary.errors == 0
//
// Some of them are never tried again: each of those is an error, and the others stay a note.
// RUN: on=fake args="30 given_up" exit=23
// EXPECT: NOTE busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: ERROR leak-at-close: ibv_close_device(fake0) leaves 15 objects alive: 15 pd
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: ERROR busy-destroy: ibv_dealloc_pd of pd #
// EXPECT: TOLD busy-destroy: 14 more not shown: ibv_dealloc_pd at main busy_refused_in_a_flood.c:@refused@, 15 times in all, 15 objects, 15 of them destroyed at a later try
// EXPECT: TOLD busy-destroy: 5 more not shown: ibv_dealloc_pd at main busy_refused_in_a_flood.c:@refused@, 15 times in all, 15 objects
// EXPECT-JSON: findings[severity=error].rule == leak-at-close
// EXPECT-JSON: findings[2].rule == busy-destroy
// EXPECT-JSON: findings[2].severity == error
// EXPECT-JSON: findings[2].objects == 15
// EXPECT-JSON: summary.errors == 2
// EXPECT-JSON: summary.notes == 1
#include "scenario.h"

int main(int argc, char** argv) {
  MUST(argc == 3);
  const int rounds = atoi(argv[1]);
  struct ibv_context* context = open_device();
  static char buffer[64];
  for (int i = 0; i < rounds; ++i) {
    struct ibv_pd* pd = ibv_alloc_pd(context);
    struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
    MUST(ibv_dealloc_pd(pd) == EBUSY);  // @refused
    MUST(ibv_dereg_mr(mr) == 0);
    if (strcmp(argv[2], "given_up") == 0 && i % 2 == 1) continue;
    MUST(ibv_dealloc_pd(pd) == 0);
  }
  if (strcmp(argv[2], "leak") == 0) MUST(ibv_alloc_pd(context) != NULL);
  MUST(ibv_close_device(context) == 0);
  return 0;
}
