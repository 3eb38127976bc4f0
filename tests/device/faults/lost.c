// A device is lost while one thread waits for a completion event and another for an asynchronous one; then what each call
// returns. Run by faults.py, with the device really removed and with the loss simulated.
//   lost real|simulated release|leave|race
#include <poll.h>
#include <signal.h>

#include "../removal/doomed_device.h"

static int asynchronous_first;

static void* read_completion(void* unused) {
  struct ibv_cq* of = NULL;
  void* user = NULL;
  completion.tid = gettid();
  const int rc = ibv_get_cq_event(channel, &of, &user);
  snprintf(completion.words, sizeof(completion.words), "completion event: %d %s", rc, rc != 0 ? strerrorname_np(errno) : "");
  // It is there to be read, or its reader has been woken by it: by the clock either thread may be the first to run.
  struct pollfd event = {context->async_fd, POLLIN, 0};
  asynchronous_first = poll(&event, 1, 0) == 1 || !is_blocked(&asynchronous);
  return unused;
}

static void* read_asynchronous(void* unused) {
  struct ibv_async_event event;
  asynchronous.tid = gettid();
  const int rc = ibv_get_async_event(context, &event);
  snprintf(asynchronous.words, sizeof(asynchronous.words), "asynchronous event: %d %s", rc,
           rc != 0 ? strerrorname_np(errno) : ibv_event_type_str(event.event_type));
  if (rc == 0) ibv_ack_async_event(&event);
  return unused;
}

static void* read_for_ever(void* other) {
  struct ibv_async_event event;
  elsewhere.tid = gettid();
  while (ibv_get_async_event((struct ibv_context*)other, &event) == 0) continue;  // @other_get
  return NULL;
}

static void say(const char* call, int rc) { printf("%s: %s\n", call, rc == 0 ? "0" : strerrorname_np(rc < 0 ? errno : rc)); }

static int kernel_objects(void) {
  FILE* list = popen("for kind in pd cq qp mr srq; do rdma resource show $kind; done 2>/dev/null", "r");
  char line[512], mine[32];
  snprintf(mine, sizeof(mine), "pid %d ", getpid());
  int count = 0;
  while (fgets(line, sizeof(line), list) != NULL) count += strstr(line, mine) != NULL;
  pclose(list);
  return count;
}

static void release(void) {
  say("destroy_qp", ibv_destroy_qp(qp));  // @destroy_qp
  say("destroy_srq", ibv_destroy_srq(srq));
  say("destroy_cq", ibv_destroy_cq(cq));
  say("destroy_comp_channel", ibv_destroy_comp_channel(channel));
  say("dereg_mr", ibv_dereg_mr(mr));
  say("dealloc_pd", ibv_dealloc_pd(pd));
  printf("objects of the kernel: %d\n", kernel_objects());
  say("close_device", ibv_close_device(context));
}

int main(int argc, char** argv) {
  MUST(argc == 3);
  const int real = strcmp(argv[1], "real") == 0;
  if (make_objects() != 0) return 98;
  pthread_t readers[2] = {start(read_completion, NULL), start(read_asynchronous, NULL)};
  await(&completion);
  await(&asynchronous);
  if (real) {
    MUST(system("rdma link delete rxe0") == 0);
  } else {
    MUST(kill(getpid(), SIGUSR1) == 0);
  }
  join(readers[0]);
  join(readers[1]);
  fprintf(stderr, "first: %s\n", asynchronous_first ? "asynchronous" : "completion");
  printf("%s\n%s\n", asynchronous.words, completion.words);
  struct pollfd both[2] = {{channel->fd, POLLIN, 0}, {context->async_fd, POLLIN, 0}};
  poll(both, 2, 0);
  printf("poll: channel 0x%x, asynchronous 0x%x\n", both[0].revents, both[1].revents);

  say("alloc_pd", ibv_alloc_pd(context) != NULL ? 0 : -1);
  say("create_cq", ibv_create_cq(context, 4, NULL, NULL, 0) != NULL ? 0 : -1);
  say("create_comp_channel", ibv_create_comp_channel(context) != NULL ? 0 : -1);
  say("modify_qp", to_init(qp));
  struct ibv_port_attr port;
  say("query_port", ibv_query_port(context, 1, &port));
  if (strcmp(argv[2], "leave") == 0) {
    say("close_device", ibv_close_device(context));
  } else {
    if (strcmp(argv[2], "race") == 0) {
      start(read_for_ever, open_named("rxe1"));
      await(&elsewhere);
    }
    release();
  }
  fflush(stdout);
  exit(0);
}
