// An rsocket is one object, whatever it holds inside; its descriptors, QPs and MRs are librdmacm's.
// RUN: on=device args="clean" options="strict=1" exit=0
// EXPECT-NOTHING
// EXPECT-JSON: summary.kinds.rsocket.created == 3
//
// RUN: on=device args="listening" exit=0
// EXPECT: WARNING open-at-exit: 1 object is still open when the process ends: 1 rsocket
// EXPECT: 1 rsocket #{{\d+}}: fd={{\d+}}
// EXPECT: #0 main cm_rsocket.c:@listening@ (
//
// RUN: on=device args="accepted" options="strict=1" exit=23
// EXPECT: ERROR open-at-exit: 1 object is still open when the process ends: 1 rsocket
// EXPECT: #0 serve cm_rsocket.c:@accepted@ (
//
// RUN: on=device args="calling" exit=0
// EXPECT: WARNING open-at-exit: 1 object is still open when the process ends: 1 rsocket
// EXPECT: #0 main cm_rsocket.c:@calling@ (
//
// RUN: on=device args="datagram" exit=0
// EXPECT: WARNING open-at-exit: 1 object is still open when the process ends: 1 rsocket
// EXPECT: #0 main cm_rsocket.c:@datagram@ (
// LINK: rdmacm
#include <rdma/rsocket.h>

#include "cm_scenario.h"

static int listening;
static const char* how;

static int is(const char* name) { return strcmp(how, name) == 0; }

static void* serve(void* unused) {
  char word[4] = "";
  int accepted = raccept(listening, NULL, NULL);  // @accepted
  MUST(accepted >= 0);
  MUST(rrecv(accepted, word, sizeof(word), MSG_WAITALL) == 4 && strcmp(word, "abc") == 0);
  MUST(rsend(accepted, word, sizeof(word), 0) == 4);
  rshutdown(accepted, SHUT_RDWR);
  if (!is("accepted")) MUST(rclose(accepted) == 0);
  return unused;
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  how = argv[1];
  struct sockaddr_in here = address("10.77.0.1", 7473);
  listening = rsocket(AF_INET, SOCK_STREAM, 0);  // @listening
  MUST(listening >= 0 && rbind(listening, (struct sockaddr*)&here, sizeof(here)) == 0 && rlisten(listening, 1) == 0);
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, serve, NULL) == 0);
  char word[4] = "abc";
  int calling = rsocket(AF_INET, SOCK_STREAM, 0);  // @calling
  MUST(calling >= 0 && rconnect(calling, (struct sockaddr*)&here, sizeof(here)) == 0);
  MUST(rsend(calling, word, sizeof(word), 0) == 4);
  MUST(rrecv(calling, word, sizeof(word), MSG_WAITALL) == 4);
  rshutdown(calling, SHUT_RDWR);
  pthread_join(thread, NULL);
  if (!is("calling")) MUST(rclose(calling) == 0);
  if (!is("listening")) MUST(rclose(listening) == 0);
  if (is("datagram")) {
    int datagram = rsocket(AF_INET, SOCK_DGRAM, 0);  // @datagram
    MUST(datagram >= 0 && rbind(datagram, (struct sockaddr*)&here, sizeof(here)) == 0);
  }
  return 0;
}
