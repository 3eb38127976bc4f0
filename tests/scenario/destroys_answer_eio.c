// The real libibverbs, whose kernel returns EIO to every command from a moment on, as one does that has lost the device
// (B51). This program's own ioctl and write stand before the C library's in libibverbs' eyes.
//
// Without the variable a destroy fails and what it has of user memory stays: told once for the device, with how often.
// RUN: on=device args="refused" exit=0
// EXPECT: WARNING alive-after-device-loss: device rxe0 was removed: ibv_destroy_qp returned EIO, and the object's user memory stays allocated; with RDMAV_ALLOW_DISASSOC_DESTROY=1 such a destroy counts as done
// EXPECT: qp #{{\d+}} on rxe0
// EXPECT-NOT: leak-at-close
// EXPECT-NOT: busy-destroy
// EXPECT-JSON: findings.length == 1
// EXPECT-JSON: findings[0].count == 6
// EXPECT-JSON: findings[0].related.length == 6
// EXPECT-JSON: findings[0].hints[0] == "6 objects (1 pd, 1 comp_channel, 1 cq, 1 mr, 1 srq, 1 qp) of it are still open"
// EXPECT-JSON: findings[0].verb == ibv_destroy_qp
// EXPECT-JSON: summary.kinds.qp.alive == 1
// SAME-OUTPUT
//
// Without a close it is no more.
// RUN: on=device args="exit" exit=0
// EXPECT: WARNING alive-after-device-loss: device rxe0 was removed: ibv_destroy_qp returned EIO
// EXPECT-NOT: open-at-exit
// EXPECT-JSON: findings.length == 1
// EXPECT-JSON: findings[0].related.length == 7
// SAME-OUTPUT
//
// With it they count as done.
// RUN: on=device args="done" env="RDMAV_ALLOW_DISASSOC_DESTROY=1" exit=0
// EXPECT-NOTHING
// EXPECT-JSON: summary.kinds.qp.alive == 0
// EXPECT-JSON: summary.kinds.mr.alive == 0
// SAME-OUTPUT
//
// libibverbs reads the variable at the first list: set later, it is too late.
// RUN: on=device args="late" exit=0
// EXPECT: WARNING alive-after-device-loss: device rxe0 was removed: ibv_destroy_qp returned EIO
// EXPECT-JSON: findings.length == 1
// SAME-OUTPUT
#include <stdarg.h>
#include <sys/syscall.h>

#include "scenario.h"

static int lost = -1;  // the descriptor

int ioctl(int fd, unsigned long request, ...) {
  va_list more;
  va_start(more, request);
  void* argument = va_arg(more, void*);
  va_end(more);
  if (fd == lost) {
    errno = EIO;
    return -1;
  }
  return (int)syscall(SYS_ioctl, fd, request, argument);
}

ssize_t write(int fd, const void* data, size_t size) {
  if (fd == lost) {
    errno = EIO;
    return -1;
  }
  return syscall(SYS_write, fd, data, size);
}

static void show(const char* what, int answer) { printf("%s: %s\n", what, answer == 0 ? "done" : strerror(answer)); }

int main(int argc, char** argv) {
  MUST(argc == 2);
  static char memory[4096];
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_comp_channel* channel = ibv_create_comp_channel(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, channel, 0);
  struct ibv_mr* mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
  struct ibv_srq_init_attr shared = srq_attr();
  struct ibv_srq* srq = ibv_create_srq(pd, &shared);
  struct ibv_qp_init_attr attr = qp_attr(IBV_QPT_RC, cq, srq);
  struct ibv_qp* qp = ibv_create_qp(pd, &attr);
  MUST(qp != NULL && mr != NULL);
  if (strcmp(argv[1], "late") == 0) setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 1);
  lost = context->cmd_fd;
  show("qp", ibv_destroy_qp(qp));
  show("srq", ibv_destroy_srq(srq));
  show("cq", ibv_destroy_cq(cq));
  show("channel", ibv_destroy_comp_channel(channel));
  show("mr", ibv_dereg_mr(mr));
  show("pd", ibv_dealloc_pd(pd));
  if (strcmp(argv[1], "exit") == 0) return 0;
  const int closed = ibv_close_device(context);
  lost = -1;  // its number will serve for other files
  show("context", closed);
  return 0;
}
