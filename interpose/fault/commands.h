// What libibverbs asks of the kernel: is this command a destroy?
#pragma once

#include <cstddef>

namespace rdmacheck::fault {

enum class Command : unsigned char {
  kOther,
  kDestroys,             // the kernel returns no more than its result
  kDestroysWithCounts,   // and with how many events it has reported, which libibverbs waits for
};

// An ioctl on the descriptor of a context.
Command CommandOf(unsigned long request, const void* argument);
// A write(2): the older form.
Command CommandOfWrite(const void* command, size_t size);

}  // namespace rdmacheck::fault
