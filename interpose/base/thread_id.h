// The kernel's id of the calling thread, asked for once.
#pragma once

#include <cstdint>

namespace rdmacheck {

namespace internal {
extern thread_local uint32_t thread_id __attribute__((tls_model("initial-exec")));
uint32_t AskThreadId();
}  // namespace internal

inline uint32_t ThisThreadId() {
  const uint32_t known = internal::thread_id;
  return __builtin_expect(known != 0, true) ? known : internal::AskThreadId();
}
// In a forked child.
inline void ForgetThreadId() { internal::thread_id = 0; }

}  // namespace rdmacheck
