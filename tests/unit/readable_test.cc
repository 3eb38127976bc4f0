#include "report/readable.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace rdmacheck {
namespace {

// 0, or which question is answered wrongly.
int AskedWrongly() {
  char* pages = static_cast<char*>(mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (pages == MAP_FAILED) return 1;
  mprotect(pages + 4096, 4096, PROT_NONE);
  munmap(pages + 2 * 4096, 4096);
  const uintptr_t first = reinterpret_cast<uintptr_t>(pages);
  errno = ENXIO;
  if (!CanReadWord(first) || !CanReadWord(first + 4096 - 8)) return 2;
  if (CanReadWord(first + 4096)) return 3;
  if (CanReadWord(first + 2 * 4096)) return 4;
  if (CanReadWord(0) || CanReadWord(8) || CanReadWord(UINTPTR_MAX - 7) || CanReadWord(uintptr_t{1} << 62)) return 5;
  return errno == ENXIO ? 0 : 6;
}

TEST(ReadableTest, OnlyWhatCanBeReadIsSaidToBe) { EXPECT_EQ(AskedWrongly(), 0); }

TEST(ReadableTest, AContainerMayForbidTheFirstCall) {
  const pid_t child = fork();
  if (child == 0) {
    sock_filter forbid[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter = {sizeof(forbid) / sizeof(*forbid), forbid};
    // qemu-user has neither filters nor the call that this one forbids.
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
    if (syscall(SYS_process_vm_readv, getpid(), nullptr, 0, nullptr, 0, 0) >= 0) _exit(100);
    _exit(AskedWrongly());
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace rdmacheck
