// A connection that fails leaves its QP behind each time; it shows as growth under one creating stack (B08, B09a, B10).
// RUN: on=fake args="1500" exit=0
// EXPECT: WARNING open-at-exit
// EXPECT: 1500 qp, the first #
// EXPECT: #0 connect_once qp_left_on_failed_connect.c:@qp@ (
// EXPECT: SUMMARY
// EXPECT-JSON: summary.kinds.qp.created == 1509
// EXPECT-JSON: summary.kinds.qp.destroyed == 9
// EXPECT-JSON: summary.growth[kind=qp].alive == 1500
//
// RUN: on=both args="20" exit=0
// EXPECT: WARNING open-at-exit
// EXPECT: 20 qp, the first #
// EXPECT: #0 connect_once qp_left_on_failed_connect.c:@qp@ (
#include <arpa/inet.h>
#include <sys/socket.h>

#include "scenario.h"

static __attribute__((noinline)) int connect_once(struct ibv_pd* pd, struct ibv_cq* cq, int reachable) {
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, NULL);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);  // @qp
  MUST(qp != NULL);
  if (!reachable) {
    struct sockaddr_in nobody;
    memset(&nobody, 0, sizeof(nobody));
    nobody.sin_family = AF_INET;
    nobody.sin_port = htons(1);
    nobody.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const int connected = connect(fd, (struct sockaddr*)&nobody, sizeof(nobody));
    close(fd);
    if (connected != 0) return -1;
  }
  return ibv_destroy_qp(qp);
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  MUST(cq != NULL);
  for (int i = 0; i < 9; ++i) MUST(connect_once(pd, cq, 1) == 0);
  for (int i = 0; i < atoi(argv[1]); ++i) MUST(connect_once(pd, cq, 0) == -1);
  return 0;
}
