// A return address as it lies on a stack.
#pragma once

#include <cstdint>

namespace rdmacheck {

// On aarch64 its high bits may hold a signature (pointer authentication).
inline uintptr_t WithoutSignature(uintptr_t stored) {
#if defined(__aarch64__)
  register uintptr_t address asm("x30") = stored;
  asm("hint 7" : "+r"(address));  // xpaclri; nothing on processors without
  return address;
#else
  return stored;
#endif
}

}  // namespace rdmacheck
