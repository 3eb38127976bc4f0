/* A small echo over RDMA verbs that forgets something: the example of README.md in this folder.
 *
 * Two peers live in this one process, each with a reliable connected QP. The client sends a line, the server sends it
 * back. Lines longer than 16 characters the server rejects, and on that path the client is not released.
 *
 *   cc -g leaky_echo.c -libverbs -o leaky_echo
 *   ./leaky_echo [DEVICE]
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kPort = 1, kMessage = 64, kLongestEcho = 16 };

struct peer {
  const char* name;
  struct ibv_pd* pd;
  struct ibv_cq* cq;
  struct ibv_mr* mr;
  struct ibv_qp* qp;
  char outgoing[kMessage];
  char incoming[kMessage];
};

static int complain(const char* step) {
  fprintf(stderr, "leaky_echo: %s: %s\n", step, strerror(errno));
  return -1;
}
static void give_up(const char* step) { exit(-2 * complain(step)); }
/* ---- set-up: one function a step */

static struct ibv_context* open_device(const char* wanted) {
  int count = 0;
  struct ibv_device** devices = ibv_get_device_list(&count);
  struct ibv_context* context = NULL;
  for (int i = 0; i < count && context == NULL; i++)
    if (wanted == NULL || strcmp(wanted, ibv_get_device_name(devices[i])) == 0) context = ibv_open_device(devices[i]);
  if (devices != NULL) ibv_free_device_list(devices);
  if (context == NULL) {
    fprintf(stderr, "leaky_echo: no RDMA device%s%s\n", wanted ? " " : "", wanted ? wanted : "");
    exit(2);
  }
  return context;
}

static struct ibv_pd* allocate_domain(struct ibv_context* context) {
  struct ibv_pd* pd = ibv_alloc_pd(context);
  if (pd == NULL) complain("ibv_alloc_pd");
  return pd;
}

static struct ibv_cq* create_completions(struct ibv_context* context) {
  struct ibv_cq* cq = ibv_create_cq(context, 16, NULL, NULL, 0);
  if (cq == NULL) complain("ibv_create_cq");
  return cq;
}

static struct ibv_mr* register_messages(struct ibv_pd* pd, struct peer* peer) {
  struct ibv_mr* mr = ibv_reg_mr(pd, peer->outgoing, 2 * kMessage, IBV_ACCESS_LOCAL_WRITE);
  if (mr == NULL) complain("ibv_reg_mr");
  return mr;
}

static struct ibv_qp* create_queue_pair(struct ibv_pd* pd, struct ibv_cq* cq) {
  struct ibv_qp_init_attr attr = {
      .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
      .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);
  if (qp == NULL) complain("ibv_create_qp");
  return qp;
}

static int make_peer(struct peer* peer, const char* name, struct ibv_context* context) {
  memset(peer, 0, sizeof *peer);
  peer->name = name;
  if ((peer->pd = allocate_domain(context)) == NULL) return -1;
  if ((peer->cq = create_completions(context)) == NULL) return -1; /* ... and so on: what is there is forgotten */
  if ((peer->mr = register_messages(peer->pd, peer)) == NULL) return -1;
  return (peer->qp = create_queue_pair(peer->pd, peer->cq)) == NULL ? -1 : 0;
}

static void release_peer(struct peer* peer) {
  if (ibv_destroy_qp(peer->qp)) complain("ibv_destroy_qp");
  if (ibv_dereg_mr(peer->mr)) complain("ibv_dereg_mr");
  if (ibv_destroy_cq(peer->cq)) complain("ibv_destroy_cq");
  if (ibv_dealloc_pd(peer->pd)) complain("ibv_dealloc_pd");
}

/* The GID that an IPv4 address gave the port, if there is one; else the first. */
static int choose_gid(struct ibv_context* context, union ibv_gid* gid) {
  struct ibv_port_attr port;
  if (ibv_query_port(context, kPort, &port)) give_up("ibv_query_port");
  for (int i = 0; i < port.gid_tbl_len; i++)
    if (ibv_query_gid(context, kPort, i, gid) == 0 && IN6_IS_ADDR_V4MAPPED((struct in6_addr*)gid->raw)) return i;
  if (ibv_query_gid(context, kPort, 0, gid)) give_up("ibv_query_gid");
  return 0;
}

/* INIT, ready to receive, ready to send. Both peers are behind the same port. */
static int connect_to(struct peer* peer, const struct peer* other, struct ibv_context* context) {
  struct ibv_port_attr port;
  if (ibv_query_port(context, kPort, &port)) give_up("ibv_query_port");
  struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = kPort};
  if (ibv_modify_qp(peer->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
    return complain("ibv_modify_qp to INIT");

  struct ibv_qp_attr receive = {
      .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = other->qp->qp_num, .min_rnr_timer = 12,
      .max_dest_rd_atomic = 1, .ah_attr = {.is_global = 1, .dlid = port.lid, .port_num = kPort}};
  receive.ah_attr.grh.hop_limit = 1;
  receive.ah_attr.grh.sgid_index = choose_gid(context, &receive.ah_attr.grh.dgid);
  if (ibv_modify_qp(peer->qp, &receive,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
    return complain("ibv_modify_qp to RTR");

  struct ibv_qp_attr send = {
      .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
  const int mask =
      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
  if (ibv_modify_qp(peer->qp, &send, mask)) return complain("ibv_modify_qp to RTS");
  return 0;
}

/* ---- messages */

static void post_receive(struct peer* peer) {
  struct ibv_sge sge = {(uintptr_t)peer->incoming, kMessage, peer->mr->lkey};
  struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
  if (ibv_post_recv(peer->qp, &wr, &bad)) give_up("ibv_post_recv");
}

static void post_send(struct peer* peer, const char* text) {
  snprintf(peer->outgoing, kMessage, "%s", text);
  struct ibv_sge sge = {(uintptr_t)peer->outgoing, strlen(peer->outgoing) + 1, peer->mr->lkey};
  struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
  if (ibv_post_send(peer->qp, &wr, &bad)) give_up("ibv_post_send");
}

/* Waits, for at most five seconds, until a message has arrived. */
static void wait_for_message(struct peer* peer) {
  for (time_t end = time(NULL) + 5; time(NULL) <= end;) {
    struct ibv_wc wc;
    int got = ibv_poll_cq(peer->cq, 1, &wc);
    if (got < 0 || (got > 0 && wc.status != IBV_WC_SUCCESS)) {
      fprintf(stderr, "leaky_echo: %s: %s\n", peer->name, got < 0 ? "ibv_poll_cq" : ibv_wc_status_str(wc.status));
      exit(2);
    }
    if (got > 0 && wc.opcode == IBV_WC_RECV) return;
  }
  errno = ETIMEDOUT;
  give_up(peer->name);
}

static void serve(struct peer* server) {
  wait_for_message(server);
  post_receive(server);
  post_send(server, strlen(server->incoming) <= kLongestEcho ? server->incoming : "rejected");
}

/* Sends a line from the client through the server and back. */
static int echo(struct peer* client, struct peer* server, const char* line) {
  post_receive(client);
  post_send(client, line);
  serve(server);
  wait_for_message(client);
  printf("sent \"%s\", got \"%s\"\n", line, client->incoming);
  return strcmp(client->incoming, line) == 0 ? 0 : -1;
}

static int run_client(struct ibv_context* context, struct peer* server) {
  struct peer client;
  if (make_peer(&client, "client", context) != 0) return -1;
  if (connect_to(&client, server, context) != 0) return -1;
  if (connect_to(server, &client, context) != 0) return -1;
  post_receive(server);

  const char* lines[] = {"hello", "is anybody there, at the other end?"};
  for (int i = 0; i < 2; i++)
    if (echo(&client, server, lines[i]) != 0) return -1; /* ... and the client is forgotten */

  release_peer(&client);
  return 0;
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  struct peer server;
  struct ibv_context* context = open_device(argc > 1 ? argv[1] : NULL);
  if (make_peer(&server, "server", context) != 0) return ibv_close_device(context), 2;

  if (run_client(context, &server) != 0) printf("the server would not echo that; never mind\n");

  release_peer(&server);
  ibv_close_device(context); /* returns 0, whatever is still alive */
  return 0;
}
