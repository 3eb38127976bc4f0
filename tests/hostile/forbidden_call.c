// forbidden_call NUMBER busy|clean|leak prctl|syscall: after its first verbs the program forbids one system call, by
// prctl(2) or by a bare system call; using it kills.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "scenario.h"

int main(int argc, char** argv) {
  MUST(argc == 4);
  const unsigned number = (unsigned)atoi(argv[1]);
  struct ibv_context* context = open_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  MUST(ibv_destroy_cq(cq) == 0);
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
  MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  if (strcmp(argv[3], "prctl") == 0) MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
  if (strcmp(argv[3], "syscall") == 0) MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
  static char buffer[64];
  for (int i = 0; i < 50; ++i) {
    struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
    cq = ibv_create_cq(context, 4, NULL, NULL, 0);
    MUST(mr != NULL && cq != NULL);
    if (strcmp(argv[2], "busy") == 0) MUST(ibv_dealloc_pd(pd) == EBUSY);
    MUST(ibv_dereg_mr(mr) == 0 && ibv_destroy_cq(cq) == 0);
  }
  if (strcmp(argv[2], "leak") != 0) MUST(ibv_dealloc_pd(pd) == 0);
  MUST(ibv_close_device(context) == 0);
  puts("done");
  return 0;
}
