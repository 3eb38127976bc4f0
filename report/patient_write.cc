#include "report/patient_write.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>

#include "report/frugal.h"

namespace rdmacheck {
namespace {

constexpr int64_t kMillisecond = 1000000;
constexpr int64_t kPatience = 2000 * kMillisecond;
constexpr int64_t kPatienceInAll = 60000 * kMillisecond;
constexpr int kSliceMs = 50;

std::atomic<int64_t> patience{kPatience};
std::atomic<int64_t> patience_in_all{kPatienceInAll};

int64_t Now() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
}

// What the reader has not read yet, or -1.
int Unread(int fd, StreamKind kind) {
  int bytes = 0;
  return ioctl(fd, kind == StreamKind::kPipe ? FIONREAD : TIOCOUTQ, &bytes) == 0 ? bytes : -1;
}

// False: nobody reads.
bool AwaitRoom(int fd, StreamKind kind) {
  pollfd ready = {fd, POLLOUT, 0};
  if (poll(&ready, 1, 0) > 0) {  // an error, too: the write says which
    patience.store(kPatience, std::memory_order_relaxed);
    return true;
  }
  int unread = Unread(fd, kind);
  for (;;) {
    const int64_t left =
        std::min(patience.load(std::memory_order_relaxed), patience_in_all.load(std::memory_order_relaxed));
    if (left <= 0) return false;
    const int64_t begin = Now();
    const int n = poll(&ready, 1, static_cast<int>(std::clamp<int64_t>(left / kMillisecond, 1, kSliceMs)));
    const int64_t waited = std::max<int64_t>(Now() - begin, 1);
    patience_in_all.fetch_sub(waited, std::memory_order_relaxed);
    const int now_unread = n > 0 ? 0 : Unread(fd, kind);
    if (n > 0 || now_unread < unread) {
      patience.store(kPatience, std::memory_order_relaxed);
    } else {
      patience.fetch_sub(waited, std::memory_order_relaxed);
    }
    unread = now_unread;
    if (n > 0) return true;
  }
}

// The same file with a description of our own, which may be set to not block; -1 if there is none to be had.
int OpenAgain(int fd) {
  char path[40];
  snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
  return open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

// Where a write takes all or waits.
int WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<size_t>(n));
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

int WriteInSteps(int fd, StreamKind kind, bool blocks, std::string_view text) {
  int refused = 0;
  while (!text.empty()) {
    if (!AwaitRoom(fd, kind)) return ETIMEDOUT;
    ssize_t n;
    if (kind == StreamKind::kSocket) {
      n = send(fd, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    } else {
      // A pipe that can be written to has room for PIPE_BUF bytes, unless another process is faster.
      n = write(fd, text.data(), blocks ? std::min<size_t>(text.size(), PIPE_BUF) : text.size());
    }
    if (n >= 0) {
      text.remove_prefix(static_cast<size_t>(n));
      refused = 0;
    } else if (errno == EAGAIN) {
      // Room, but not for this: somebody else was faster, or a terminal wants more at once.
      if (++refused > kPatience / kMillisecond) return ETIMEDOUT;
      poll(nullptr, 0, 1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

StreamKind StreamKindOf(int fd, mode_t mode) {
  if (S_ISFIFO(mode)) return StreamKind::kPipe;
  if (S_ISSOCK(mode)) return StreamKind::kSocket;
  if (S_ISCHR(mode) && isatty(fd) == 1) return StreamKind::kTerminal;
  return StreamKind::kFile;
}

int WritePatiently(int fd, StreamKind kind, std::string_view text) {
  if (kind == StreamKind::kFile || Frugal()) return WriteAll(fd, text);
  if (kind == StreamKind::kSocket) return WriteInSteps(fd, kind, false, text);
  const int flags = fcntl(fd, F_GETFL);
  if (flags >= 0 && (flags & O_NONBLOCK) != 0) return WriteInSteps(fd, kind, false, text);
  if (kind == StreamKind::kPipe && text.size() <= PIPE_BUF) return WriteInSteps(fd, kind, true, text);
  const int own = OpenAgain(fd);
  if (own < 0) return WriteInSteps(fd, kind, true, text);
  const int error = WriteInSteps(own, kind, false, text);
  close(own);
  return error;
}

}  // namespace rdmacheck
