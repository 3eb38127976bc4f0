#include "interpose/checker/fork.h"

#include "interpose/base/arena.h"
#include "interpose/base/journal.h"
#include "interpose/base/own_stack.h"
#include "interpose/base/thread_id.h"
#include "interpose/checker/checker.h"
#include "interpose/checker/guard.h"
#include "interpose/checker/injected.h"
#include "interpose/checker/snapshots.h"
#include "interpose/options/run_mark.h"
#include "interpose/stacks/thread_stack.h"
#include "interpose/stacks/unwind.h"
#include "report/process_id.h"

namespace rdmacheck {

void BeforeFork() {
  Checker* checker = Checker::IfMade();
  if (checker == nullptr) return;
  Call call(*checker, "fork", Kind::kNone, CallPointHere());
  Guarded(*checker, [&] {
    checker->SetForkStack(call.StackId());
  });
  checker->ForkPrepare();
}

void ForkInParent() {
  if (Checker* checker = Checker::IfMade()) checker->ForkParent();
}

void ForkInChild() {
  ForgetProcessId();
  ForgetThreadId();
  ArenaForkChild();
  JournalForkChild();
  UnwinderForkChild();
  OwnStacksForkChild();
  ThreadStackForkChild();
  Checker::ForkChildEarly();
  Checker* checker = Checker::IfMade();
  if (checker == nullptr) return;
  Guarded(*checker, [&] {
    checker->ForkChild();
    InjectedForkChild();
  });
  SnapshotsForkChild();
  RunMarkForked();
}

}  // namespace rdmacheck
