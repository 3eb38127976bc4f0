// The C library's functions that libibverbs, the providers and the program call on descriptors of a device. Each is passed
// on at once, by a jump, as long as no device is to be lost.
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>

#include "interpose/fault/device_loss.h"
#include "interpose/fault/faults.h"
#include "interpose/fault/real.h"
#include "interpose/fault/real_calls.h"
#include "interpose/base/clock.h"

namespace rdmacheck::fault {
namespace {

using IoctlFn = int (*)(int, unsigned long, void*);
using ReadFn = ssize_t (*)(int, void*, size_t);
using ReadChkFn = ssize_t (*)(int, void*, size_t, size_t);
using WriteFn = ssize_t (*)(int, const void*, size_t);
using MmapFn = void* (*)(void*, size_t, int, int, int, off_t);
using PollFn = int (*)(pollfd*, nfds_t, int);
using PollChkFn = int (*)(pollfd*, nfds_t, int, size_t);
using PpollFn = int (*)(pollfd*, nfds_t, const timespec*, const sigset_t*);
using PpollChkFn = int (*)(pollfd*, nfds_t, const timespec*, const sigset_t*, size_t);
using SelectFn = int (*)(int, fd_set*, fd_set*, fd_set*, timeval*);
using PselectFn = int (*)(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*);
using EpollCtlFn = int (*)(int, int, int, epoll_event*);

// Looked up once; constant-initialised, for these are called before any constructor.
struct Name {
  const char* const name;
  void* known = nullptr;
  constexpr explicit Name(const char* n) : name(n) {}
  void* Get() {
    void* real = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
    if (__builtin_expect(real == nullptr, false)) {
      const int saved = errno;
      real = RealOfC(name);
      __atomic_store_n(&known, real, __ATOMIC_RELEASE);
      errno = saved;
    }
    return real;
  }
};
Name name_ioctl("ioctl"), name_read("read"), name_read_chk("__read_chk"), name_write("write"), name_mmap("mmap"),
    name_poll("poll"), name_poll_chk("__poll_chk"), name_ppoll("ppoll"), name_ppoll_chk("__ppoll_chk"), name_select("select"),
    name_pselect("pselect"), name_epoll_ctl("epoll_ctl");
#define RDMAFAULT_REAL(type, name) reinterpret_cast<type>(name_##name.Get())

inline Followed* Lookup(int fd) {
  return __builtin_expect(following.load(std::memory_order_relaxed), false) ? Find(fd) : nullptr;
}

// ---- waiting for several descriptors

constexpr size_t kMostWaited = 4096;

// What is left of a time that began at `begin`; null stays null (forever).
const timespec* Rest(const timespec* timeout, uint64_t begin, timespec* rest) {
  if (timeout == nullptr) return nullptr;
  const uint64_t whole = static_cast<uint64_t>(timeout->tv_sec) * 1'000'000'000 + static_cast<uint64_t>(timeout->tv_nsec);
  const uint64_t gone = NanosOf(CLOCK_MONOTONIC) - begin;
  const uint64_t left = whole > gone ? whole - gone : 0;
  *rest = {static_cast<time_t>(left / 1'000'000'000), static_cast<long>(left % 1'000'000'000)};
  return rest;
}

// As ppoll(), and a thread that waits when a device is lost looks again, at what then stands behind the same numbers.
int PollFollowed(pollfd* descriptors, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  const uint64_t begin = NanosOf(CLOCK_MONOTONIC);
  timespec rest;
  for (;;) {
    size_t wakers = 0;
    for (nfds_t i = 0; i < count && count <= kMostWaited; ++i) {
      Followed* const followed = Find(descriptors[i].fd);
      wakers += followed != nullptr && WakerOf(followed) >= 0;
    }
    const timespec* const left = Rest(timeout, begin, &rest);
    if (wakers == 0) return RDMAFAULT_REAL(PpollFn, ppoll)(descriptors, count, left, mask);
    auto* const all = static_cast<pollfd*>(__builtin_alloca((count + wakers) * sizeof(pollfd)));
    memcpy(all, descriptors, count * sizeof(pollfd));
    size_t used = count;
    for (nfds_t i = 0; i < count && used < count + wakers; ++i) {
      Followed* const followed = Find(descriptors[i].fd);
      const int waker = followed == nullptr ? -1 : WakerOf(followed);
      if (waker >= 0) all[used++] = {waker, POLLIN, 0};
    }
    int ready = RDMAFAULT_REAL(PpollFn, ppoll)(all, used, left, mask);
    if (ready < 0) return ready;
    bool woken = false;
    for (size_t i = count; i < used; ++i) {
      if (all[i].revents == 0) continue;
      woken = true;
      --ready;
    }
    if (woken && ready == 0) continue;
    for (nfds_t i = 0; i < count; ++i) descriptors[i].revents = all[i].revents;
    return ready;
  }
}

bool AnyWaited(const pollfd* descriptors, nfds_t count) {
  if (__builtin_expect(!following.load(std::memory_order_relaxed), true)) return false;
  for (nfds_t i = 0; i < count; ++i) {
    if (Find(descriptors[i].fd) != nullptr) return true;
  }
  return false;
}

bool AnyWaited(int count, const fd_set* set) {
  if (__builtin_expect(!following.load(std::memory_order_relaxed), true) || set == nullptr) return false;
  for (int fd = 0; fd < count; ++fd) {
    if (FD_ISSET(fd, set) && Find(fd) != nullptr) return true;
  }
  return false;
}

// select() by poll(), whose words are richer: a set of select is what of them it counts as ready.
int SelectFollowed(int count, fd_set* read, fd_set* write, fd_set* other, const timespec* timeout, const sigset_t* mask) {
  pollfd all[FD_SETSIZE];
  nfds_t used = 0;
  for (int fd = 0; fd < std::min(count, FD_SETSIZE); ++fd) {
    short events = 0;
    if (read != nullptr && FD_ISSET(fd, read)) events |= POLLIN;
    if (write != nullptr && FD_ISSET(fd, write)) events |= POLLOUT;
    if (other != nullptr && FD_ISSET(fd, other)) events |= POLLPRI;
    if (events != 0) all[used++] = {fd, events, 0};
  }
  const int ready = PollFollowed(all, used, timeout, mask);
  if (ready < 0) return ready;
  int bits = 0;
  for (nfds_t i = 0; i < used; ++i) {
    if ((all[i].revents & POLLNVAL) != 0) {
      errno = EBADF;
      return -1;
    }
  }
  for (nfds_t i = 0; i < used; ++i) {
    const auto set = [&](fd_set* which, short asked, short as) {
      if (which == nullptr || (all[i].events & asked) == 0) return;
      if ((all[i].revents & as) != 0) {
        ++bits;
      } else {
        FD_CLR(all[i].fd, which);
      }
    };
    set(read, POLLIN, POLLIN | POLLHUP | POLLERR);
    set(write, POLLOUT, POLLOUT | POLLERR);
    set(other, POLLPRI, POLLPRI);
  }
  return bits;
}

timespec OfMilliseconds(int timeout) { return {timeout / 1000, timeout % 1000 * 1'000'000L}; }

}  // namespace

namespace real {
ssize_t Read(int fd, void* buffer, size_t size) { return RDMAFAULT_REAL(ReadFn, read)(fd, buffer, size); }
ssize_t Write(int fd, const void* buffer, size_t size) { return RDMAFAULT_REAL(WriteFn, write)(fd, buffer, size); }
int Poll(pollfd* descriptors, nfds_t count, int timeout) { return RDMAFAULT_REAL(PollFn, poll)(descriptors, count, timeout); }
int EpollCtl(int epoll, int operation, int fd, epoll_event* event) {
  return RDMAFAULT_REAL(EpollCtlFn, epoll_ctl)(epoll, operation, fd, event);
}
}  // namespace real

}  // namespace rdmacheck::fault

using namespace rdmacheck::fault;  // NOLINT: all that follows has C's names

#define RDMAFAULT_C extern "C" __attribute__((visibility("default"), used))

RDMAFAULT_C int rdmafault_ioctl(int fd, unsigned long request, void* argument) {
  Followed* const followed = Lookup(fd);
  if (followed == nullptr) return RDMAFAULT_REAL(IoctlFn, ioctl)(fd, request, argument);
  if (CommandFails(followed, request, argument)) return -1;
  const int result = RDMAFAULT_REAL(IoctlFn, ioctl)(fd, request, argument);
  return result < 0 && DestroyPasses(followed, request, argument, errno) ? 0 : result;
}

RDMAFAULT_C ssize_t rdmafault_read(int fd, void* buffer, size_t size) {
  Followed* const followed = Lookup(fd);
  const ssize_t got =
      followed == nullptr ? RDMAFAULT_REAL(ReadFn, read)(fd, buffer, size) : ReadEvent(followed, fd, buffer, size);
  if (got > 0) AfterRead();
  return got;
}

RDMAFAULT_C ssize_t rdmafault_read_chk(int fd, void* buffer, size_t size, size_t room) {
  if (size > room || Lookup(fd) == nullptr) return RDMAFAULT_REAL(ReadChkFn, read_chk)(fd, buffer, size, room);
  return rdmafault_read(fd, buffer, size);
}

// librdmacm has its events from a command that it writes.
RDMAFAULT_C ssize_t rdmafault_write(int fd, const void* buffer, size_t size) {
  Followed* const followed = Lookup(fd);
  if (followed != nullptr && WriteFails(followed, buffer, size)) return -1;
  const ssize_t put = RDMAFAULT_REAL(WriteFn, write)(fd, buffer, size);
  if (put > 0) AfterRead();
  return put;
}

RDMAFAULT_C void* rdmafault_mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
  Followed* const followed = (flags & MAP_ANONYMOUS) != 0 ? nullptr : Lookup(fd);
  if (followed != nullptr && MapFails(followed)) return MAP_FAILED;
  return RDMAFAULT_REAL(MmapFn, mmap)(address, size, protection, flags, fd, offset);
}

RDMAFAULT_C int rdmafault_poll(pollfd* descriptors, nfds_t count, int timeout) {
  if (!AnyWaited(descriptors, count)) return RDMAFAULT_REAL(PollFn, poll)(descriptors, count, timeout);
  const timespec time = OfMilliseconds(timeout);
  return PollFollowed(descriptors, count, timeout < 0 ? nullptr : &time, nullptr);
}

RDMAFAULT_C int rdmafault_poll_chk(pollfd* descriptors, nfds_t count, int timeout, size_t room) {
  if (count * sizeof(pollfd) > room || !AnyWaited(descriptors, count)) {
    return RDMAFAULT_REAL(PollChkFn, poll_chk)(descriptors, count, timeout, room);
  }
  return rdmafault_poll(descriptors, count, timeout);
}

RDMAFAULT_C int rdmafault_ppoll(pollfd* descriptors, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  if (!AnyWaited(descriptors, count)) return RDMAFAULT_REAL(PpollFn, ppoll)(descriptors, count, timeout, mask);
  return PollFollowed(descriptors, count, timeout, mask);
}

RDMAFAULT_C int rdmafault_ppoll_chk(pollfd* descriptors, nfds_t count, const timespec* timeout, const sigset_t* mask,
                                    size_t room) {
  if (count * sizeof(pollfd) > room || !AnyWaited(descriptors, count)) {
    return RDMAFAULT_REAL(PpollChkFn, ppoll_chk)(descriptors, count, timeout, mask, room);
  }
  return PollFollowed(descriptors, count, timeout, mask);
}

// With FD_SETSIZE and more descriptors the sets are the program's own size: those are passed on.
RDMAFAULT_C int rdmafault_select(int count, fd_set* read, fd_set* write, fd_set* other, timeval* timeout) {
  if (count > FD_SETSIZE || (!AnyWaited(count, read) && !AnyWaited(count, write) && !AnyWaited(count, other))) {
    return RDMAFAULT_REAL(SelectFn, select)(count, read, write, other, timeout);
  }
  if (timeout == nullptr) return SelectFollowed(count, read, write, other, nullptr, nullptr);
  const uint64_t begin = rdmacheck::NanosOf(CLOCK_MONOTONIC);
  const timespec time{timeout->tv_sec, timeout->tv_usec * 1000L};
  const int ready = SelectFollowed(count, read, write, other, &time, nullptr);
  timespec rest;
  Rest(&time, begin, &rest);  // Linux tells how much was left
  timeout->tv_sec = rest.tv_sec;
  timeout->tv_usec = rest.tv_nsec / 1000;
  return ready;
}

RDMAFAULT_C int rdmafault_pselect(int count, fd_set* read, fd_set* write, fd_set* other, const timespec* timeout,
                                  const sigset_t* mask) {
  if (count > FD_SETSIZE || (!AnyWaited(count, read) && !AnyWaited(count, write) && !AnyWaited(count, other))) {
    return RDMAFAULT_REAL(PselectFn, pselect)(count, read, write, other, timeout, mask);
  }
  return SelectFollowed(count, read, write, other, timeout, mask);
}

RDMAFAULT_C int rdmafault_epoll_ctl(int epoll, int operation, int fd, epoll_event* event) {
  Followed* const followed = Lookup(fd);
  if (followed == nullptr) return RDMAFAULT_REAL(EpollCtlFn, epoll_ctl)(epoll, operation, fd, event);
  return ControlEpoll(followed, epoll, operation, fd, event);
}

// Each under the version of the C library's own, for those who were bound to it.
#if defined(__x86_64__)
#define RDMAFAULT_BASE "GLIBC_2.2.5"
#define RDMAFAULT_SINCE(version) version
#else
#define RDMAFAULT_BASE "GLIBC_2.17"
#define RDMAFAULT_SINCE(version) RDMAFAULT_BASE
#endif
#define RDMAFAULT_AS(ours, name, version) __asm__(".symver rdmafault_" #ours "," #name "@@" version);
RDMAFAULT_AS(ioctl, ioctl, RDMAFAULT_BASE)
RDMAFAULT_AS(read, read, RDMAFAULT_BASE)
RDMAFAULT_AS(read_chk, __read_chk, RDMAFAULT_SINCE("GLIBC_2.4"))
RDMAFAULT_AS(write, write, RDMAFAULT_BASE)
RDMAFAULT_AS(mmap, mmap, RDMAFAULT_BASE)
RDMAFAULT_AS(poll, poll, RDMAFAULT_BASE)
RDMAFAULT_AS(poll_chk, __poll_chk, RDMAFAULT_SINCE("GLIBC_2.16"))
RDMAFAULT_AS(ppoll, ppoll, RDMAFAULT_SINCE("GLIBC_2.4"))
RDMAFAULT_AS(ppoll_chk, __ppoll_chk, RDMAFAULT_SINCE("GLIBC_2.16"))
RDMAFAULT_AS(select, select, RDMAFAULT_BASE)
RDMAFAULT_AS(pselect, pselect, RDMAFAULT_BASE)
RDMAFAULT_AS(epoll_ctl, epoll_ctl, RDMAFAULT_SINCE("GLIBC_2.3.2"))
extern "C" __attribute__((visibility("default"), used)) decltype(rdmafault_mmap) rdmafault_mmap64
    __attribute__((alias("rdmafault_mmap")));
RDMAFAULT_AS(mmap64, mmap64, RDMAFAULT_BASE)
