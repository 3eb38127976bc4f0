// A thread that left our own code by a jump: siglongjmp() or an exception out of a signal handler, setcontext(), the end of
// the thread. It holds locks that nobody will give back. What guards a report cannot be left so (base/quiet_lock.h); the rest
// is given back here, and what was half changed is put in order from what is whole.
#pragma once

#include <cstdint>

namespace rdmacheck {

// Called in the thread itself, or for one that is known never to go on where it was.
void LeftOurCode(uint32_t thread);

}  // namespace rdmacheck
