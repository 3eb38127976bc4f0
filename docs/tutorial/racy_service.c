/* A service that lives on when its device is removed, and has a race: the second example of README.md in this folder.
 *
 * Clients come and go; each has a QP. A thread waits for IBV_EVENT_DEVICE_FATAL, so that the service can release all it
 * has. With RDMAV_ALLOW_DISASSOC_DESTROY the destroys succeed on a removed device too.
 *
 *   cc -g racy_service.c -libverbs -lpthread -o racy_service
 *   ./racy_service [DEVICE]
 */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kClients = 3 };

static struct ibv_context* context;
static struct ibv_pd* pd;
static struct ibv_cq* cq;
static atomic_int lost;

static void check(int good, const char* step) {
  if (good) return;
  perror(step);
  exit(2);
}

static void open_device(const char* wanted) {
  int count = 0;
  struct ibv_device** devices = ibv_get_device_list(&count);
  for (int i = 0; i < count && context == NULL; i++)
    if (wanted == NULL || strcmp(wanted, ibv_get_device_name(devices[i])) == 0) context = ibv_open_device(devices[i]);
  if (devices != NULL) ibv_free_device_list(devices);
  check(context != NULL, "ibv_open_device");
}

static void* watch_device(void* unused) {
  struct ibv_async_event event;
  while (ibv_get_async_event(context, &event) == 0) {
    if (event.event_type == IBV_EVENT_DEVICE_FATAL) lost = 1;
    ibv_ack_async_event(&event);
  }
  return unused;
}

static void serve_client(void) {
  struct ibv_qp_init_attr attr = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
                                  .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);
  check(qp != NULL, "ibv_create_qp");
  usleep(20000); /* … in place of the client's requests */
  check(ibv_destroy_qp(qp) == 0, "ibv_destroy_qp");
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 1); /* before the first verb */
  open_device(argc > 1 ? argv[1] : NULL);
  check((pd = ibv_alloc_pd(context)) != NULL, "ibv_alloc_pd");
  check((cq = ibv_create_cq(context, 16, NULL, NULL, 0)) != NULL, "ibv_create_cq");
  pthread_t watcher;
  check(pthread_create(&watcher, NULL, watch_device, NULL) == 0, "pthread_create");

  int served = 0;
  for (; served < kClients && !lost; served++) serve_client();
  printf("served %d client%s%s\n", served, served == 1 ? "" : "s", lost ? ", then the device was removed" : "");

  pthread_cancel(watcher);
  pthread_join(watcher, NULL);
  check(ibv_destroy_cq(cq) == 0, "ibv_destroy_cq");
  check(ibv_dealloc_pd(pd) == 0, "ibv_dealloc_pd");
  check(ibv_close_device(context) == 0, "ibv_close_device");
  return 0;
}
