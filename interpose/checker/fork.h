// What a fork takes: the three handlers of pthread_atfork(), which process/startup.cc registers. The child's is also called at
// the first verb of a process that was made past them (clone, _Fork).
#pragma once

namespace rdmacheck {

void BeforeFork();
void ForkInParent();
void ForkInChild();

}  // namespace rdmacheck
