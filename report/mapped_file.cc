#include "report/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "report/frugal.h"
#include "report/own_descriptors.h"
#include "report/readable.h"

namespace rdmacheck {
namespace {

struct Request {
  const char* path;
  void* at;
  size_t size;
};

// 0 or an errno value. By system calls: the C library's open and close are cancellation points.
int MapNow(void* data) {
  auto* request = static_cast<Request*>(data);
  const int fd =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, request->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0));
  if (fd < 0) return errno;
  struct stat info = {};
  int error = EINVAL;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
    const auto size = static_cast<size_t>(info.st_size);
    void* at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    error = at == MAP_FAILED ? errno : 0;
    if (error == 0) {
      request->at = at;
      request->size = size;
    }
  }
  syscall(SYS_close, fd);
  return error;
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  if (Frugal()) return;
  const int saved = errno;
  Request request = {path.c_str(), nullptr, 0};
  if (MapNow(&request) == EMFILE) WithOwnDescriptors(&MapNow, &request);
  if (request.at != nullptr) bytes_ = std::string_view(static_cast<const char*>(request.at), request.size);
  errno = saved;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

std::string_view MappedFile::Keep() { return std::exchange(bytes_, {}); }

bool IsStillWhole(std::string_view mapping) {
  if (mapping.empty()) return false;
  if (Frugal()) return true;
  const uintptr_t last = reinterpret_cast<uintptr_t>(&mapping.back());
  return CanReadWord(last - last % sizeof(uint64_t));
}

}  // namespace rdmacheck
