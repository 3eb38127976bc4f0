// Verbs called under Python's GIL, but in moments in which Python may not be asked.
#include <infiniband/verbs.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static struct ibv_context *context;
static struct ibv_pd *pd;
static void alloc_pd(void) { pd = ibv_alloc_pd(context); }
static void handle(int number) {
  (void)number;
  alloc_pd();
}

// In a signal handler.
int alloc_in_handler(struct ibv_context *of) {
  context = of;
  signal(SIGUSR1, &handle);
  raise(SIGUSR1);
  return pd == NULL;
}

// In a forked child, before fork() has returned to Python. There the device is opened too, as the parent's is the parent's.
static void open_and_alloc(void) {
  struct ibv_device **list = ibv_get_device_list(NULL);
  context = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  alloc_pd();
  ibv_close_device(context);
}
int alloc_in_child(struct ibv_context *of) {
  (void)of;
  return pthread_atfork(NULL, NULL, &open_and_alloc);
}
