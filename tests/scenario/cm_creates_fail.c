// Objects of librdmacm are made until no descriptor is left (or, for SRQs, no address space): what this process holds is
// reported with the create that fails. Everything is released before the end.
// RUN: on=device args="channel" options="strict=1" exit=0
// EXPECT: NOTE create-failed: rdma_create_event_channel failed with EMFILE; this process holds {{\d\d+}} cm_channel
// EXPECT: {{\d\d+}} cm_channel, created at make cm_creates_fail.c:@channel@
// EXPECT-JSON: findings.length == 1
//
// RUN: on=device args="id" options="strict=1" exit=0
// EXPECT: NOTE create-failed: rdma_create_id failed with {{EMFILE|ENOMEM}}; this process holds {{\d\d+}} cm_id
// EXPECT: {{\d\d+}} cm_id, created at make cm_creates_fail.c:@id@
// EXPECT-JSON: findings.length == 1
//
// An endpoint's id has a channel of its own, as the one before.
// RUN: on=device args="ep" options="strict=1" exit=0
// EXPECT: NOTE create-failed: rdma_create_ep failed with {{EMFILE|ENOMEM}}; this process holds {{\d\d+}} cm_id
// EXPECT: {{\d\d+}} cm_id, created at make cm_creates_fail.c:@ep@
// EXPECT-JSON: findings.length == 1
//
// RUN: on=device args="socket" options="strict=1" exit=0
// EXPECT: NOTE create-failed: rsocket failed with {{EMFILE|ENOMEM}}; this process holds {{\d\d+}} rsocket
// EXPECT: {{\d\d+}} rsocket, created at make cm_creates_fail.c:@socket@
// EXPECT-JSON: findings.length == 1
//
// librdmacm makes two CQs and their channels for the QP: the channel is what fails, inside rdma_create_qp.
// RUN: on=device args="qp" options="strict=1" exit=0
// EXPECT: NOTE create-failed: ibv_create_comp_channel failed with EMFILE; this process holds {{\d\d+}} comp_channel
// EXPECT: {{\d\d+}} comp_channel, created at make cm_creates_fail.c:@qp@
// EXPECT-JSON: findings.length == 1
//
// RUN: on=device args="srq" options="strict=1" exit=0
// EXPECT: NOTE create-failed: ibv_create_srq{{(_ex)?}} failed with ENOMEM; this process holds {{\d\d+}} srq
// EXPECT: {{\d\d+}} srq, created at make cm_creates_fail.c:@srq@
// EXPECT-JSON: findings.length == 1
//
// RUN: on=device args="few" options="strict=1" exit=0
// EXPECT-NOTHING
// LINK: rdmacm
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <rdma/rsocket.h>
#include <sys/resource.h>

#include "scenario.h"

enum { kMost = 200 };
static void* made[kMost];
static struct rdma_event_channel* channel;
static struct rdma_addrinfo* address;

static int is(const char* one, const char* other) { return strcmp(one, other) == 0; }

// An id that is bound to the device and costs no descriptor.
static struct rdma_cm_id* bound_id(void) {
  struct rdma_cm_id* id = NULL;
  MUST(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
  MUST(rdma_bind_addr(id, address->ai_src_addr) == 0);
  return id;
}

// 0, or the error. What was made lies in made[i].
static __attribute__((noinline)) int make(const char* what, int i) {
  struct rdma_cm_id* id = NULL;
  int result = 0;
  if (is(what, "channel")) {
    made[i] = rdma_create_event_channel();  // @channel
    return made[i] == NULL ? errno : 0;
  } else if (is(what, "id")) {
    result = rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP);  // @id
  } else if (is(what, "ep")) {
    result = rdma_create_ep(&id, address, NULL, NULL);  // @ep
  } else if (is(what, "socket")) {
    const int socket = rsocket(AF_INET, SOCK_STREAM, 0);  // @socket
    made[i] = (void*)(long)socket;
    return socket < 0 ? errno : 0;
  } else {
    struct ibv_qp_init_attr qp = {.qp_type = IBV_QPT_RC, .cap = {1, 1, 1, 1, 0}};
    struct ibv_srq_init_attr srq = {.attr = {1 << 17, 1, 0}};  // its queue takes some megabytes
    id = bound_id();
    result = is(what, "qp") ? rdma_create_qp(id, NULL, &qp) :  // @qp
                              rdma_create_srq(id, NULL, &srq);  // @srq
    const int error = errno;
    if (result != 0) MUST(rdma_destroy_id(id) == 0);
    errno = error;
  }
  made[i] = id;
  return result == 0 ? 0 : errno;
}

static void release(const char* what, void* object) {
  if (is(what, "channel")) {
    rdma_destroy_event_channel(object);
  } else if (is(what, "socket")) {
    MUST(rclose((int)(long)object) == 0);
  } else if (is(what, "ep")) {
    rdma_destroy_ep(object);
  } else {
    if (is(what, "qp")) rdma_destroy_qp(object);
    if (is(what, "srq")) rdma_destroy_srq(object);
    MUST(rdma_destroy_id(object) == 0);
  }
}

static void limit_descriptors(rlim_t most) {
  struct rlimit limit;
  MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = most < limit.rlim_max ? most : limit.rlim_max;
  MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static rlim_t address_space(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  MUST(file != NULL && fscanf(file, "%ld", &pages) == 1 && fclose(file) == 0);
  return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

// What is left when no more fits is half of one.
static void leave_room_for_20_srqs(void) {
  const rlim_t before = address_space();
  MUST(make("srq", 0) == 0);
  struct rlimit limit;
  MUST(getrlimit(RLIMIT_AS, &limit) == 0);
  limit.rlim_cur = address_space() + (address_space() - before) * 41 / 2;
  MUST(setrlimit(RLIMIT_AS, &limit) == 0);
  release("srq", made[0]);
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  const char* what = argv[1];
  const int few = is(what, "few");
  struct rdma_addrinfo hints = {.ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP};
  MUST((channel = rdma_create_event_channel()) != NULL);
  MUST(rdma_getaddrinfo("10.77.0.1", NULL, &hints, &address) == 0);
  if (is(what, "srq")) {
    leave_room_for_20_srqs();
  } else {
    limit_descriptors(64);
  }
  int n = 0, error = 0;
  while (n < (few ? 20 : kMost) && (error = make(few ? "channel" : what, n)) == 0) ++n;
  // librdmacm says ENOMEM where an id cannot have a channel.
  MUST(n >= 20 && (few ? error == 0 : error == EMFILE || error == ENOMEM));
  limit_descriptors(1024);
  while (n-- > 0) release(few ? "channel" : what, made[n]);
  rdma_freeaddrinfo(address);
  rdma_destroy_event_channel(channel);
  return 0;
}
