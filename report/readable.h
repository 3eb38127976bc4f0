// What of the memory can be read, without reading it.
#pragma once

#include <cstdint>

namespace rdmacheck {

// The 8 bytes from `address`, a multiple of 8. The kernel is asked, by system calls that change nothing: false where it says
// that they cannot be read, or (in a program that forbids both calls) nothing. Keeps errno.
bool CanReadWord(uintptr_t address);

}  // namespace rdmacheck
