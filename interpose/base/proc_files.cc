#include "interpose/base/proc_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdmacheck {
namespace {

// open, read and close of the C library are cancellation points; these are not.
int Open(const char* path, int flags) {
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0));
}
// Of a process whose main thread has left by pthread_exit, /proc/self has no files; those of a thread that lives are the
// same. Linux before 3.17 has no thread-self.
constexpr const char* kOwnFolders[] = {"/proc/thread-self", "/proc/self"};

int OpenOwn(const char* name, int flags) {
  for (const char* folder : kOwnFolders) {
    char path[64];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    const int fd = Open(path, flags);
    if (fd >= 0) return fd;
  }
  return -1;
}
ssize_t Read(int fd, void* buffer, size_t size) {
  ssize_t n;
  do {
    n = syscall(SYS_read, fd, buffer, size);
  } while (n < 0 && errno == EINTR);
  return n;
}
void Close(int fd) { syscall(SYS_close, fd); }

class KeepErrno {
 public:
  KeepErrno() : saved_(errno) {}
  ~KeepErrno() { errno = saved_; }

 private:
  const int saved_;
};

// "55d0c0000000-55d0c0021000 rw-p …": reads what it needs of each line, a buffer at a time.
class MapsReader {
 public:
  explicit MapsReader(int fd) : fd_(fd) {}
  bool NextLine(uintptr_t* low, uintptr_t* high) {
    return Number(low, '-') && Number(high, ' ') && SkipLine();
  }

 private:
  int Next() {
    if (at_ == end_) {
      const ssize_t n = Read(fd_, buffer_, sizeof(buffer_));
      if (n <= 0) return -1;
      at_ = 0;
      end_ = static_cast<size_t>(n);
    }
    return static_cast<unsigned char>(buffer_[at_++]);
  }
  bool Number(uintptr_t* value, char end) {
    *value = 0;
    for (;;) {
      const int c = Next();
      if (c == end) return true;
      if (c >= '0' && c <= '9') {
        *value = *value * 16 + static_cast<uintptr_t>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        *value = *value * 16 + static_cast<uintptr_t>(c - 'a' + 10);
      } else {
        return false;
      }
    }
  }
  bool SkipLine() {
    for (;;) {
      const int c = Next();
      if (c < 0) return false;
      if (c == '\n') return true;
    }
  }

  const int fd_;
  char buffer_[512];
  size_t at_ = 0, end_ = 0;
};

// Calls f(descriptor of the folder, name) until it returns false; closes the descriptor.
template <class F>
void ForEachName(int fd, F f) {
  if (fd < 0) return;
  alignas(8) char buffer[512];
  bool more = true;
  while (more) {
    const long n = syscall(SYS_getdents64, fd, buffer, sizeof(buffer));
    if (n <= 0) break;
    for (long at = 0; more && at < n;) {
      // struct linux_dirent64: inode, offset (8 bytes each), length (2), type (1), name.
      const char* entry = buffer + at;
      unsigned short length;
      __builtin_memcpy(&length, entry + 16, sizeof(length));
      more = f(fd, entry + 19);
      at += length;
    }
  }
  Close(fd);
}

}  // namespace

bool FindMapping(uintptr_t address, uintptr_t* low, uintptr_t* high) {
  const KeepErrno keep;
  const int fd = OpenOwn("maps", O_RDONLY);
  if (fd < 0) return false;
  MapsReader reader(fd);
  bool found = false;
  while (!found && reader.NextLine(low, high)) found = address >= *low && address < *high;
  Close(fd);
  return found;
}

int CountTasks() {
  const KeepErrno keep;
  int count = 0;
  ForEachName(Open("/proc/self/task", O_RDONLY | O_DIRECTORY), [&count](int, const char* name) {
    count += name[0] != '.';
    return true;
  });
  return count;
}

bool HasOpenFile(const char* beginning) {
  const KeepErrno keep;
  bool found = false;
  ForEachName(OpenOwn("fd", O_RDONLY | O_DIRECTORY), [&](int folder, const char* name) {
    char target[64];
    const size_t length = strlen(beginning);
    const long n = syscall(SYS_readlinkat, folder, name, target, sizeof(target));
    found = n > 0 && static_cast<size_t>(n) >= length && memcmp(target, beginning, length) == 0;
    return !found;
  });
  return found;
}

bool IsOpenFile(int fd, const char* part) {
  const KeepErrno keep;
  for (const char* folder : kOwnFolders) {
    char path[64], target[256];
    snprintf(path, sizeof(path), "%s/fd/%d", folder, fd);
    const long n = syscall(SYS_readlinkat, AT_FDCWD, path, target, sizeof(target) - 1);
    if (n <= 0) continue;
    target[n] = '\0';
    return strstr(target, part) != nullptr;
  }
  return false;
}

size_t ReadTaskFile(int32_t tid, const char* file, char* text, size_t size) {
  const KeepErrno keep;
  char path[64];
  snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, file);
  const int fd = Open(path, O_RDONLY);
  if (fd < 0) return 0;
  const ssize_t n = Read(fd, text, size);
  Close(fd);
  return n > 0 ? static_cast<size_t>(n) : 0;
}

bool TaskCall::operator==(const TaskCall& other) const {
  return state == other.state && number == other.number && stack == other.stack && pc == other.pc &&
         memcmp(arguments, other.arguments, sizeof(arguments)) == 0;
}

TaskCall ReadTaskCall(int32_t tid) {
  TaskCall call;
  char line[256];
  const size_t size = ReadTaskFile(tid, "syscall", line, sizeof(line) - 1);
  line[size] = '\0';
  if (strncmp(line, "running", 7) == 0) {
    call.state = TaskCall::kRuns;
    return call;
  }
  unsigned long* const at = call.arguments;
  unsigned long stack = 0, pc = 0;
  const int found = sscanf(line, "%ld %lx %lx %lx %lx %lx %lx %lx %lx", &call.number, at, at + 1, at + 2, at + 3, at + 4, at + 5,
                           &stack, &pc);
  if (found == 9) {
    call.stack = stack;
    call.pc = pc;
  } else if (found == 3 && call.number == -1) {
    call.stack = at[0];
    call.pc = at[1];
    at[0] = at[1] = 0;
  } else {
    return TaskCall();
  }
  call.state = TaskCall::kWaits;
  return call;
}

}  // namespace rdmacheck
