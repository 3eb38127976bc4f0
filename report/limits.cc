#include "report/limits.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "report/frugal.h"
#include "report/own_descriptors.h"
#include "report/quiet_scope.h"
#include "report/sentences.h"
#include "report/text_writer.h"

namespace rdmacheck {
namespace {

// Each is a system call; for programs with more it is a lower bound.
constexpr uint64_t kMostCounted = 1 << 16;

struct DescriptorCount {
  bool known = false;
  uint64_t used = 0, limit = 0;
};

DescriptorCount CountDescriptors() {
  DescriptorCount count;
  if (Frugal()) return count;
  const QuietScope quiet;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return count;
  count.known = true;
  count.limit = limit.rlim_cur;
  for (uint64_t fd = 0; fd < std::min(count.limit, kMostCounted); ++fd) {
    count.used += syscall(SYS_fcntl, static_cast<int>(fd), F_GETFD) >= 0;
  }
  return count;
}

struct Text {
  char bytes[4096];
  size_t size;
};

int ReadStatus(void* data) {
  auto* text = static_cast<Text*>(data);
  text->size = 0;
  const int fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC, 0));
  if (fd < 0) return errno;
  const ssize_t n = syscall(SYS_read, fd, text->bytes, sizeof(text->bytes) - 1);
  if (n > 0) text->size = static_cast<size_t>(n);
  syscall(SYS_close, fd);
  return 0;
}

// Of a line "VmPin:        4 kB".
uint64_t BytesIn(const char* status, const char* name) {
  const char* at = strstr(status, name);
  return at == nullptr ? 0 : strtoull(at + strlen(name), nullptr, 10) * 1024;
}

}  // namespace

bool NoDescriptorIsLeft() {
  const DescriptorCount count = CountDescriptors();
  return count.known && count.used == count.limit;
}

std::string UseOfDescriptors() {
  const DescriptorCount count = CountDescriptors();
  if (!count.known) return {};
  if (count.used == count.limit) return Words(Is<Sentence::kAllDescriptors>(count.used));
  return Words(count.limit > kMostCounted ? Is<Sentence::kManyDescriptors>(count.used, count.limit)
                                          : Is<Sentence::kSomeDescriptors>(count.used, count.limit));
}

std::string UseOfLockedMemory() {
  if (Frugal()) return {};
  const QuietScope quiet;
  rlimit limit = {};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  Text status;
  if (ReadStatus(&status) == EMFILE) WithOwnDescriptors(&ReadStatus, &status);
  status.bytes[status.size] = '\0';
  const std::string allowed = Bytes(limit.rlim_cur);
  if (status.size == 0) return Words(Is<Sentence::kLockedAllowed>(allowed));
  return Words(Is<Sentence::kPinnedAndLocked>(Bytes(BytesIn(status.bytes, "VmPin:")),
                                              Bytes(BytesIn(status.bytes, "VmLck:")), allowed));
}

}  // namespace rdmacheck
