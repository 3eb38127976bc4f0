// Takes the soft device away for real, while one thread waits for a completion event and another for an asynchronous one.
// Run by `run` beside here, in a guest with the helper module; rxe1 stays.
//
// Who then releases all has nothing to hear: since the device is gone, the kernel lets every destroy pass.
// RUN: on=device args="release" exit=0
// EXPECT-NOTHING
// EXPECT-OUT: completion reader: -1, EIO
// EXPECT-OUT: asynchronous reader: 0, device fatal error
// EXPECT-OUT: all released
// SAME-OUTPUT
//
// RUN: on=device args="release" env="RDMAV_ALLOW_DISASSOC_DESTROY=1" exit=0
// EXPECT-NOTHING
// EXPECT-OUT: all released
// SAME-OUTPUT
//
// What is left at the close is reported once, as lost with the device, and never as a leak.
// RUN: on=device args="leave" exit=0
// EXPECT: WARNING alive-after-device-loss: device rxe0 was removed with 5 objects (1 pd, 1 comp_channel, 1 cq, 1 mr, 1 srq) still open
// EXPECT: 1 object of it was destroyed earlier
// EXPECT-NOT: leak-at-close
// EXPECT-JSON: findings.length == 1
// EXPECT-JSON: findings[0].timeline[what=fatal].kind == context
// EXPECT-JSON: summary.errors == 0
// SAME-OUTPUT
//
// RUN: on=device args="exit" exit=0
// EXPECT: WARNING alive-after-device-loss: device rxe0 was removed with 6 objects
// EXPECT-NOT: open-at-exit
// EXPECT-JSON: findings.length == 1
// SAME-OUTPUT
//
// The variable forbids to be in a get, on whichever device, while anything is destroyed.
// RUN: on=device args="race" env="RDMAV_ALLOW_DISASSOC_DESTROY=1" exit=23
// EXPECT: ERROR event-destroy-race: thread {{\d+}} is inside ibv_get_async_event on context #{{.*}} while thread {{\d+}} is inside ibv_destroy_qp of qp #{{.*}}, with RDMAV_ALLOW_DISASSOC_DESTROY in effect
// EXPECT: qp #{{\d+}} on rxe0
// EXPECT: holder context #{{\d+}} on rxe1
// EXPECT: #0 release removal.c:@destroy_qp@ (
// EXPECT: #0 read_for_ever removal.c:@other_get@ (
// EXPECT-ALSO: ERROR event-destroy-race: {{.*}} is inside ibv_destroy_srq of
// EXPECT-ALSO: ERROR event-destroy-race: {{.*}} is inside ibv_destroy_cq of
// EXPECT-ALSO: ERROR event-destroy-race: {{.*}} is inside ibv_destroy_comp_channel of
// EXPECT-ALSO: ERROR event-destroy-race: {{.*}} is inside ibv_dereg_mr of
// EXPECT-ALSO: ERROR event-destroy-race: {{.*}} is inside ibv_dealloc_pd of
// EXPECT-ALSO: ERROR event-destroy-race: {{.*}} is inside ibv_close_device of
// EXPECT-ALSO: WARNING open-at-exit: 1 object is still open when the process ends: 1 context
// SAME-OUTPUT
//
// RUN: on=device args="race" exit=0
// EXPECT: WARNING open-at-exit: 1 object is still open when the process ends: 1 context
// EXPECT-NOT: event-destroy-race
// SAME-OUTPUT
#include "doomed_device.h"

static void* read_completion(void* unused) {
  struct ibv_cq* of = NULL;
  void* user = NULL;
  completion.tid = gettid();
  const int rc = ibv_get_cq_event(channel, &of, &user);
  snprintf(completion.words, sizeof(completion.words), "%d, %s", rc, rc != 0 && errno == EIO ? "EIO" : "other");
  return unused;
}

static void* read_asynchronous(void* unused) {
  struct ibv_async_event event;
  asynchronous.tid = gettid();
  const int rc = ibv_get_async_event(context, &event);
  snprintf(asynchronous.words, sizeof(asynchronous.words), "%d, %s", rc,
           rc != 0                                         ? strerror(errno)
           : event.event_type == IBV_EVENT_DEVICE_FATAL ? "device fatal error"
                                                        : "another event");
  if (rc == 0) ibv_ack_async_event(&event);
  return unused;
}

static void* read_for_ever(void* other) {
  struct ibv_async_event event;
  elsewhere.tid = gettid();
  while (ibv_get_async_event((struct ibv_context*)other, &event) == 0) continue;  // @other_get
  return NULL;
}

static void release(void) {
  MUST(ibv_destroy_qp(qp) == 0);  // @destroy_qp
  MUST(ibv_destroy_srq(srq) == 0);
  MUST(ibv_destroy_cq(cq) == 0);
  MUST(ibv_destroy_comp_channel(channel) == 0);
  MUST(ibv_dereg_mr(mr) == 0);
  MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  printf("all released\n");
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  if (make_objects() != 0) return 98;
  pthread_t readers[2] = {start(read_completion, NULL), start(read_asynchronous, NULL)};
  await(&completion);
  await(&asynchronous);
  MUST(system("rdma link delete rxe0") == 0);
  join(readers[0]);
  join(readers[1]);
  printf("completion reader: %s\nasynchronous reader: %s\n", completion.words, asynchronous.words);
  if (strcmp(argv[1], "exit") == 0) {
    MUST(ibv_destroy_qp(qp) == 0);
    qp = NULL;
  } else if (strcmp(argv[1], "leave") == 0) {
    MUST(ibv_destroy_qp(qp) == 0);
    MUST(ibv_close_device(context) == 0);
  } else if (strcmp(argv[1], "race") == 0) {
    start(read_for_ever, open_named("rxe1"));
    await(&elsewhere);
    release();
  } else {
    release();
  }
  fflush(stdout);
  exit(0);
}
