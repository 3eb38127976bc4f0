// Files opened when the program has no descriptor left.
//
// That is how a leak of channels or contexts mostly ends, and just then there is a report to write.
#pragma once

namespace rdmacheck {

// Runs `work(argument)` in a process that shares our memory and has a table of descriptors of its own, in which number
// 0 is free. What it opens costs the program nothing, and what it maps stays. Returns what `work` returned, or an errno
// value if there can be no such process. `work` uses system calls only, and returns 0 or an errno value.
//
// It is no fork(): no fork handler runs, no page is copied (which would take registered memory away from the device),
// no SIGCHLD is sent, and the program's wait() does not see it. The calling thread waits, with all signals blocked.
int WithOwnDescriptors(int (*work)(void*), void* argument);

}  // namespace rdmacheck
