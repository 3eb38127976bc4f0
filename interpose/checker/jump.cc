#include "interpose/checker/jump.h"

#include "interpose/base/arena.h"
#include "interpose/base/journal.h"
#include "interpose/base/own_stack.h"
#include "interpose/base/thread_id.h"
#include "interpose/checker/checker.h"
#include "interpose/checker/guard.h"
#include "interpose/stacks/unwind.h"
#include "report/quiet_scope.h"

namespace rdmacheck {

void LeftOurCode(uint32_t thread) {
  if (thread == ThisThreadId()) QuietScope::LeftSideways();
  const QuietScope quiet;
  // Memory first, which the rest needs.
  ArenaLeftBy(thread);
  JournalLeftBy(thread);
  OwnStacksLeftBy(thread);
  UnwinderLeftBy(thread);
  Checker* const checker = Checker::IfMade();
  if (checker == nullptr) return;
  Guarded(*checker, [&] {
    checker->ledger().LeftBy(thread);
  });
}

}  // namespace rdmacheck
