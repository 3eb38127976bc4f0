// Whether the process has one thread only, as the C library knows it.
#pragma once

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>

namespace rdmacheck {
inline bool SingleThreaded() { return __libc_single_threaded; }
}  // namespace rdmacheck
#else
// Built on a glibc before 2.32, and yet for newer ones too: where the variable is missing, there may always be threads.
extern "C" __attribute__((weak)) char __libc_single_threaded;

namespace rdmacheck {
inline bool SingleThreaded() { return &__libc_single_threaded != nullptr && __libc_single_threaded; }
}  // namespace rdmacheck
#endif
