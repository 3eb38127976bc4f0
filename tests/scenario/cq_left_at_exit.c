// A CQ left in a program that ends with exit: the application's whole stack, which one-frame reports lose (B87).
// RUN: on=both exit=0
// EXPECT: WARNING open-at-exit: 2 objects are still open when the process ends: 1 context, 1 cq
// EXPECT: 1 cq #{{\d+}} on {{\w+}}: cqe=
// EXPECT: #0 inner cq_left_at_exit.c:@cq@ (
// EXPECT: #1 middle cq_left_at_exit.c:
// EXPECT: #2 outer cq_left_at_exit.c:
// EXPECT: #3 main cq_left_at_exit.c:
//
// RUN: on=both options="stack_depth=2" exit=0
// EXPECT: WARNING open-at-exit
// EXPECT: #0 inner cq_left_at_exit.c:@cq@ (
// EXPECT: #1 middle
// EXPECT-NOT: #2 outer
//
// RUN: on=both options="unwinder=fp" exit=0
// EXPECT: WARNING open-at-exit
// EXPECT: #0 inner cq_left_at_exit.c:@cq@ (
// EXPECT: #1 middle cq_left_at_exit.c:
// EXPECT: #2 outer cq_left_at_exit.c:
// EXPECT: #3 main cq_left_at_exit.c:
//
// RUN: on=both options="stack_depth=0" exit=0
// EXPECT: WARNING open-at-exit
//
// RUN: on=both options="unwinder=none" exit=0
// EXPECT: WARNING open-at-exit
#include "scenario.h"

#define FRAME static __attribute__((noinline))
static volatile int depth;

FRAME void inner(struct ibv_context* context) {
  MUST(ibv_create_cq(context, 16, NULL, NULL, 0) != NULL);  // @cq
  ++depth;
}
FRAME void middle(struct ibv_context* context) {
  inner(context);
  ++depth;
}
FRAME void outer(struct ibv_context* context) {
  middle(context);
  ++depth;
}

int main(void) {
  outer(open_device());
  exit(0);
}
