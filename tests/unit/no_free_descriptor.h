// While it lives, open() fails with EMFILE.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace rdmacheck {

class NoFreeDescriptor {
 public:
  NoFreeDescriptor() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit limit = before_;
    lowest_free_ = dup(0);
    close(lowest_free_);
    limit.rlim_cur = static_cast<rlim_t>(lowest_free_);
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~NoFreeDescriptor() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoFreeDescriptor(const NoFreeDescriptor&) = delete;
  NoFreeDescriptor& operator=(const NoFreeDescriptor&) = delete;

 private:
  rlimit before_;
  int lowest_free_;
};

}  // namespace rdmacheck
