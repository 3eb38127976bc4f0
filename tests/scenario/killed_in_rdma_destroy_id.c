// rdma_destroy_id waits forever for an event that nobody acknowledges, and the program is killed there: the JSON report was
// written before the call was forwarded.
// RUN: on=device args="gone" exit=SIGKILL
// EXPECT: ERROR cm-unacked-event: rdma_destroy_id of cm_id #
// EXPECT-JSON: findings[rule=cm-unacked-event].verb == rdma_destroy_id
// EXPECT-JSON: summary.errors == 1
// EXPECT-JSON: process.ended == null
//
// RUN: on=device args="own" exit=SIGKILL
// EXPECT: ERROR self-deadlock: rdma_destroy_id of cm_id #
// EXPECT-JSON: findings[rule=self-deadlock].verb == rdma_destroy_id
//
// RUN: on=device args="acked" exit=SIGKILL
// EXPECT-NOTHING
// LINK: rdmacm
#include <signal.h>

#include "cm_scenario.h"

static struct rdma_event_channel* channel;
static struct rdma_cm_id* id;
static volatile pid_t destroyer;

// Is the thread asleep in the call? It makes no other that sleeps once its report is written.
static int sleeps(pid_t tid) {
  char path[64], line[512];
  snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
  FILE* file = fopen(path, "r");
  if (file == NULL) return 1;
  const char* after = fgets(line, sizeof(line), file) != NULL ? strrchr(line, ')') : NULL;
  fclose(file);
  return after != NULL && after[2] == 'S';
}

static void* take(void* how) {
  struct rdma_cm_event* event = NULL;
  MUST(rdma_get_cm_event(channel, &event) == 0);
  if (strcmp((const char*)how, "acked") == 0) MUST(rdma_ack_cm_event(event) == 0);
  if (strcmp((const char*)how, "own") == 0) {
    destroyer = gettid();
    rdma_destroy_id(id);
  }
  return NULL;
}

static void* destroy(void* unused) {
  destroyer = gettid();
  rdma_destroy_id(id);
  return unused;
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  channel = rdma_create_event_channel();
  MUST(channel != NULL && rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
  struct sockaddr_in to = address("10.77.0.1", 7471);
  MUST(rdma_resolve_addr(id, NULL, (struct sockaddr*)&to, 2000) == 0);
  pthread_t taker, other;
  MUST(pthread_create(&taker, NULL, take, argv[1]) == 0);
  if (strcmp(argv[1], "own") != 0) {
    pthread_join(taker, NULL);
    MUST(pthread_create(&other, NULL, destroy, NULL) == 0);
  }
  if (strcmp(argv[1], "acked") == 0) {
    pthread_join(other, NULL);
    rdma_destroy_event_channel(channel);
  } else {
    await_report();
    for (int quiet = 0; quiet < 20; usleep(10000)) quiet = sleeps(destroyer) ? quiet + 1 : 0;
  }
  kill(getpid(), SIGKILL);
  return 0;
}
