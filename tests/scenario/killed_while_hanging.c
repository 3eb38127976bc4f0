// A call that was predicted to hang hangs, or one that may crash does, and the program is killed: SIGKILL leaves no moment
// to write anything. The JSON report was there before the call was forwarded, with what was found before it.
// RUN: on=fake args="own" exit=SIGKILL
// EXPECT: ERROR self-deadlock: ibv_destroy_cq of cq #
// EXPECT-JSON: summary.errors == 1
// EXPECT-JSON: findings[0].rule == self-deadlock
// EXPECT-JSON: findings[0].stacks[0].frames[0].function == take_and_destroy
// EXPECT-JSON: process.ended == null
//
// RUN: on=fake args="gone" exit=SIGKILL
// EXPECT: ERROR unacked-events: ibv_destroy_cq of cq #
// EXPECT-JSON: findings[0].rule == unacked-events
//
// RUN: on=fake args="over" exit=SIGKILL
// EXPECT: ERROR over-acked-events:
// EXPECT-ALSO: ERROR over-acked-events: ibv_destroy_cq of cq #
// EXPECT-JSON: findings[verb=ibv_destroy_cq].rule == over-acked-events
//
// RUN: on=fake options="hang_timeout=1" args="blocked" exit=SIGKILL
// EXPECT: WARNING blocked-destroy: ibv_destroy_cq of cq #
// EXPECT-JSON: findings[0].rule == blocked-destroy
// EXPECT-JSON: summary.warnings == 1
//
// An error less than a second after another one, whatever a second is on this machine.
// RUN: on=fake args="two" exit=SIGKILL
// EXPECT: ERROR null-handle: ibv_dealloc_pd
// EXPECT: ERROR null-handle: ibv_dereg_mr
// EXPECT: ERROR self-deadlock: ibv_destroy_cq of cq #
// EXPECT-JSON: summary.errors == 3
//
// RUN: on=fake env="FAKE_KEEP=1" args="used" exit=SIGKILL
// EXPECT: ERROR use-after-destroy: ibv_query_qp called with qp #
// EXPECT-JSON: findings[0].rule == use-after-destroy
//
// The passing variant: acknowledged, destroyed and closed before somebody kills it.
// RUN: on=fake args="clean" exit=SIGKILL
// EXPECT-NOTHING
#include <signal.h>

#include "event_scenario.h"

static void* take_and_destroy(void* channel) {
  ibv_destroy_cq(take((struct ibv_comp_channel*)channel));
  return NULL;
}

static void* destroy(void* cq) {
  ibv_destroy_cq((struct ibv_cq*)cq);
  return NULL;
}

// The watcher's report is not in the way of any call: nothing says when it is written but the file.
static void await_json(void) {
  const char* options = getenv("RDMACHECK_OPTIONS");
  const char* at = options != NULL ? strstr(options, "json_path=") : NULL;
  if (at == NULL) return;
  char pattern[512], path[600];
  snprintf(pattern, sizeof(pattern), "%.*s", (int)strcspn(at + 10, ": "), at + 10);
  char* pid = strstr(pattern, "%p");
  if (pid == NULL) return;
  *pid = 0;
  snprintf(path, sizeof(path), "%s%d%s", pattern, (int)getpid(), pid + 2);
  for (int tries = 0; tries < 2000 && access(path, R_OK) != 0; ++tries) {
    const struct timespec moment = {0, 10 * 1000 * 1000};
    nanosleep(&moment, NULL);
  }
}

static int is(const char* how, const char* word) { return strcmp(how, word) == 0; }

int main(int argc, char** argv) {
  MUST(argc == 2);
  const char* how = argv[1];
  struct ibv_context* context = open_device();
  struct ibv_comp_channel* channel = ibv_create_comp_channel(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, channel, 0);
  MUST(cq != NULL);
  if (is(how, "used")) {
    struct ibv_pd* pd = ibv_alloc_pd(context);
    struct ibv_qp_init_attr init = qp_attr(IBV_QPT_RC, cq, NULL);
    struct ibv_qp* qp = ibv_create_qp(pd, &init);
    struct ibv_qp_attr attr;
    MUST(qp != NULL && ibv_destroy_qp(qp) == 0);
    (void)ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);
    kill(getpid(), SIGKILL);
  }
  MUST(fake_post_cq_event(cq) == 0);
  if (is(how, "two")) {
    (void)ibv_dealloc_pd(NULL);
    (void)ibv_dereg_mr(NULL);
  }
  if (is(how, "own") || is(how, "two")) {
    start(take_and_destroy, channel);
  } else if (is(how, "gone")) {
    join(start(take_one, channel));
    start(destroy, cq);
  } else {
    take(channel);
    if (!is(how, "blocked")) ibv_ack_cq_events(cq, is(how, "over") ? 2 : 1);
    const pthread_t thread = start(destroy, cq);
    if (is(how, "clean")) join(thread);
  }
  if (is(how, "clean")) {
    MUST(ibv_destroy_comp_channel(channel) == 0 && ibv_close_device(context) == 0);
  } else {
    MUST(fake_await_waiters("ibv_destroy_cq", 1) == 0);
  }
  if (is(how, "blocked")) await_json();
  kill(getpid(), SIGKILL);
  return 0;
}
