#include "interpose/base/thread_id.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace rdmacheck {

thread_local uint32_t internal::thread_id = 0;

uint32_t internal::AskThreadId() { return thread_id = static_cast<uint32_t>(syscall(SYS_gettid)); }

}  // namespace rdmacheck
