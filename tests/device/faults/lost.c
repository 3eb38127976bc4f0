// A device is lost while one thread waits for a completion event and another for an asynchronous one; then what each call
// returns. Run by faults.py, with the device really removed and with the loss simulated.
//   lost real|simulated release|leave|race
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "event_scenario.h"

static char memory[4096];
static struct ibv_context* context;
static struct ibv_pd* pd;
static struct ibv_comp_channel* channel;
static struct ibv_cq* cq;
static struct ibv_mr* mr;
static struct ibv_srq* srq;
static struct ibv_qp* qp;

struct reader {
  atomic_int tid;
  struct timespec when;
  char words[100];
};
static struct reader completion, asynchronous, elsewhere;

static struct ibv_context* open_named(const char* name) {
  struct ibv_device** list = ibv_get_device_list(NULL);
  struct ibv_context* found = NULL;
  for (int i = 0; list[i] != NULL; ++i) {
    if (strcmp(ibv_get_device_name(list[i]), name) == 0) found = ibv_open_device(list[i]);
  }
  ibv_free_device_list(list);
  MUST(found != NULL);
  return found;
}

static void* read_completion(void* unused) {
  struct ibv_cq* of = NULL;
  void* user = NULL;
  completion.tid = gettid();
  const int rc = ibv_get_cq_event(channel, &of, &user);
  snprintf(completion.words, sizeof(completion.words), "completion event: %d %s", rc, rc != 0 ? strerrorname_np(errno) : "");
  clock_gettime(CLOCK_MONOTONIC, &completion.when);
  return unused;
}

static void* read_asynchronous(void* unused) {
  struct ibv_async_event event;
  asynchronous.tid = gettid();
  const int rc = ibv_get_async_event(context, &event);
  snprintf(asynchronous.words, sizeof(asynchronous.words), "asynchronous event: %d %s", rc,
           rc != 0 ? strerrorname_np(errno) : ibv_event_type_str(event.event_type));
  clock_gettime(CLOCK_MONOTONIC, &asynchronous.when);
  if (rc == 0) ibv_ack_async_event(&event);
  return unused;
}

static void* read_for_ever(void* other) {
  struct ibv_async_event event;
  elsewhere.tid = gettid();
  while (ibv_get_async_event((struct ibv_context*)other, &event) == 0) continue;  // @other_get
  return NULL;
}

// Until it is blocked in the kernel: in read, poll or ppoll.
static void await(const struct reader* reader) {
  for (;;) {
    char path[64], state[256] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", reader->tid);
    const int fd = reader->tid == 0 ? -1 : open(path, O_RDONLY);
    const ssize_t size = fd < 0 ? 0 : read(fd, state, sizeof(state) - 1);
    if (fd >= 0) close(fd);
    if (size > 2 && (strncmp(state, "0 ", 2) == 0 || strncmp(state, "7 ", 2) == 0 || strncmp(state, "271 ", 4) == 0)) return;
    sched_yield();
  }
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
  if (system("rdma link show rxe0/1 >/dev/null 2>&1 || rdma link add rxe0 type rxe netdev dummy0") != 0) return 98;
  context = open_named("rxe0");
  pd = ibv_alloc_pd(context);
  channel = ibv_create_comp_channel(context);
  cq = ibv_create_cq(context, 4, NULL, channel, 0);
  mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
  struct ibv_srq_init_attr shared = srq_attr();
  srq = ibv_create_srq(pd, &shared);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, srq);
  qp = ibv_create_qp(pd, &attr);
  MUST(mr != NULL && qp != NULL);
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
  const int first = asynchronous.when.tv_sec != completion.when.tv_sec ? asynchronous.when.tv_sec < completion.when.tv_sec
                                                                     : asynchronous.when.tv_nsec < completion.when.tv_nsec;
  fprintf(stderr, "first: %s\n", first ? "asynchronous" : "completion");
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
