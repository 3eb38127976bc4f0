// A context whose verbs_context is shorter than our header's, or has null pointers: what is not there is not touched, and
// returns as without us. Before the struct lies a page that must not be touched.
// RUN: on=fake env="FAKE_SZ=352" exit=23
// EXPECT: ERROR leak-at-close: ibv_close_device(fake0) leaves 1 object alive: 1 pd
// EXPECT-OUT: cq_ex no 95
// SAME-OUTPUT
// RUN: on=fake env="FAKE_SZ=448" exit=23
// EXPECT: ERROR leak-at-close: ibv_close_device(fake0) leaves 2 objects alive: 1 pd, 1 cq
// EXPECT-OUT: cq_ex yes
// EXPECT-OUT: td no 95
// SAME-OUTPUT
// RUN: on=fake env="FAKE_SZ=696" exit=23
// EXPECT: ERROR leak-at-close: ibv_close_device(fake0) leaves 3 objects alive: 1 pd, 1 cq, 1 td
// SAME-OUTPUT
// RUN: on=fake env="FAKE_NULL_SLOTS=alloc_td,create_cq_ex" exit=23
// EXPECT: ERROR leak-at-close: ibv_close_device(fake0) leaves 1 object alive: 1 pd
// EXPECT-OUT: cq_ex no 95
// EXPECT-OUT: td no 95
// SAME-OUTPUT
#include "scenario.h"

int main(void) {
  struct ibv_context* context = open_device();
  MUST(ibv_alloc_pd(context) != NULL);
  struct ibv_cq_init_attr_ex of;
  memset(&of, 0, sizeof(of));
  of.cqe = 4;
  if (ibv_create_cq_ex(context, &of) != NULL) {
    puts("cq_ex yes");
  } else {
    printf("cq_ex no %d\n", errno);
  }
  struct ibv_td_init_attr nothing;
  memset(&nothing, 0, sizeof(nothing));
  if (ibv_alloc_td(context, &nothing) != NULL) {
    puts("td yes");
  } else {
    printf("td no %d\n", errno);
  }
  MUST(ibv_close_device(context) == 0);
  return 0;
}
