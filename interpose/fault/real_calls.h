// The C library's functions that system_calls.cc stands before.
#pragma once

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/types.h>

namespace rdmacheck::fault::real {

ssize_t Read(int fd, void* buffer, size_t size);
ssize_t Write(int fd, const void* buffer, size_t size);
int Poll(pollfd* descriptors, nfds_t count, int timeout);
int EpollCtl(int epoll, int operation, int fd, epoll_event* event);

}  // namespace rdmacheck::fault::real
