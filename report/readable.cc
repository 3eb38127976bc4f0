#include "report/readable.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "report/process_id.h"

namespace rdmacheck {
namespace {

// An order that there is not: the kernel reads the set before it looks at that.
bool CanReadAsSignalSet(uintptr_t address) {
  constexpr int kNoOrder = -1;
  return syscall(SYS_rt_sigprocmask, kNoOrder, address, nullptr, sizeof(uint64_t)) != 0 && errno == EINVAL;
}

}  // namespace

bool CanReadWord(uintptr_t address) {
  const int saved = errno;
  uint64_t word;
  iovec to{&word, sizeof(word)};
  iovec from{reinterpret_cast<void*>(address), sizeof(word)};
  bool can = process_vm_readv(ProcessId(), &to, 1, &from, 1, 0) == sizeof(word);
  // Containers forbid this one, gVisor and qemu-user do not have it.
  if (!can && errno != EFAULT) can = CanReadAsSignalSet(address);
  errno = saved;
  return can;
}

}  // namespace rdmacheck
