// Takes the stack of the calling thread.
#pragma once

#include <cstddef>

namespace rdmacheck {

enum class UnwindBy : unsigned char { kLibunwind, kFramePointers, kNone };

inline constexpr size_t kMaxFrames = 256;

// Fills pcs with at most `depth` (<= kMaxFrames) return addresses, innermost first, beginning with `caller`: the place
// in the program (or a library) that called into us. Our own frames are left out. Returns how many; at least 1 unless
// depth is 0, since the caller is known without unwinding.
// May be called from any thread; takes the loader's lock when it meets code it has not met before, so no lock of ours
// may be held.
size_t TakeStack(UnwindBy by, void* caller, void** pcs, size_t depth);

}  // namespace rdmacheck
