// How much of the process's own limits is in use, in a sentence. No descriptor of the program's is needed.
// Empty where it cannot be known, or system calls are to be few (frugal.h).
#pragma once

#include <string>

namespace rdmacheck {

// Libraries turn EMFILE into ENOMEM on the way up (rdma_create_id). False where it cannot be known.
bool NoDescriptorIsLeft();

// "all 64 descriptors that RLIMIT_NOFILE allows are in use", or "60 of the 64 …".
std::string UseOfDescriptors();

// "4.0 KiB of memory are pinned and 0 bytes locked; RLIMIT_MEMLOCK allows 64 KiB". Empty where there is no limit.
std::string UseOfLockedMemory();

}  // namespace rdmacheck
