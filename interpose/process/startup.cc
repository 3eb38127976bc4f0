// When things happen in a process: at load and at the end. What a fork takes is in checker/fork.cc, and snapshots in
// checker/snapshots.cc.
//
// At load: as little as possible, for most processes that inherit LD_PRELOAD never call a verb. The report is written by
// a handler that on_exit() has registered before anybody else could: it runs after every destructor of every library,
// so what a library releases in its own destructor is not reported (docs/design.md, "The end").
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <new>

#include "interpose/base/journal.h"
#include "interpose/base/own_stack.h"
#include "interpose/base/proc_files.h"
#include "interpose/checker/checker.h"
#include "interpose/checker/fork.h"
#include "interpose/checker/guard.h"
#include "interpose/checker/snapshots.h"
#include "interpose/hooks/reentry.h"
#include "interpose/hooks/the_checker.h"
#include "interpose/judge/judge.h"
#include "interpose/judge/witness.h"
#include "interpose/libraries/past_sanitizer.h"
#include "interpose/options/run_mark.h"

namespace rdmacheck {
namespace {

// Returns whether the program's status becomes exitcode=. `unseen`: what is open is not known (Reentry::ThreadEnds).
bool ReportAtExit(Checker& checker, int status, bool unseen) {
  WriteSnapshotsDue();
  if (unseen) {
    checker.Unwatched(Is<Sentence::kExitInHandler>());
  } else {
    JudgeExit(checker);
  }
  Reporter& reporter = checker.reporter();
  const int exitcode = checker.options().exitcode;
  // A forked child that called no verb has nothing to say, and must not replace its parent's report.
  if (checker.forked() && !reporter.anything()) {
    if (CallsOfAllThreads() > 0) reporter.WriteReport(Moment::kExitOfForked, status);
    return false;
  }
  // Nor must one that only asked for snapshots and called no verb (the shell or `timeout` in front of a program).
  if (!reporter.anything() && !checker.ledger().AnythingMade() && checker.depot().size() == 0) return false;
  const bool change = status == 0 && exitcode != 0 && reporter.errors() > 0;
  if (checker.options().verbosity >= 1 || reporter.sink().has_json() || UnderRun()) {
    checker.parts().find_bypasses(checker);
  }
  if (checker.options().verbosity >= 1) {
    for (const std::string& line : reporter.UnmatchedSuppressions()) {
      reporter.Tell(Is<Sentence::kMatchedNothing>(line));
    }
    reporter.Tell(Is<Sentence::kHooked>(checker.hooks_slots.load(), checker.hooks_dlsym.load()));
    for (const std::string& sentence : checker.UnwatchedSentences()) reporter.Tell(Is<Sentence::kNotWatched>(sentence));
  }
  reporter.Summarize(true);
  reporter.WriteReport(Moment::kExit, change ? exitcode : status);
  return change;
}

// A program that is linked statically with libibverbs calls no verb that we see.
bool verify_at_exit = false;

void AtExit(int status, void*) {
  Checker* checker = Checker::IfMade();
  if (checker == nullptr) {
    bool listed = false;
    if (verify_at_exit) {
      CallWithAmpleStack([&] {
        try {
          listed = KernelListsOurs();
        } catch (const std::bad_alloc&) {
        }
      });
    }
    if (listed) checker = TheChecker();
    if (checker == nullptr) return RunMarkEnded(status);
  }
  checker->SeeForkAtExit();
  // A signal handler called exit(): what the thread was in the middle of is never gone on with.
  const bool unseen = Reentry::ThreadEnds();
  bool change = false;
  Guarded(*checker, [&] {
    change = ReportAtExit(*checker, status, unseen);
  });
  JournalEnd();
  RunMarkEnded(change ? checker->options().exitcode : status);
  if (!change) return;
  // What exit() itself would do next. Not fflush(nullptr): that takes the lock of each stream, and another thread that
  // waits in getchar() holds its own forever; the C library's last flush takes none.
  fcloseall();
  _exit(checker->options().exitcode);
}

void ReadOptionsAtLoad() {
  const char* options = getenv("RDMACHECK_OPTIONS");
  if (options == nullptr) return;
  const ParseResult parsed = ParseOptions(options);
  if (parsed.help) {
    const std::string table = HelpTable();
    if (write(STDERR_FILENO, table.data(), table.size()) < 0) return;
  }
  verify_at_exit = parsed.options.verify == Verify::kKernel;
  if (verify_at_exit && HasOpenFile("/dev/infiniband/uverbs")) {
    if (Checker* checker = TheChecker()) Guarded(*checker, [&] { NoteInherited(*checker); });
  }
  // A snapshot can be asked for before the first verb.
  if (parsed.options.snapshot_signal <= 0) return;
  WatchMainThread();
  if (Checker* checker = TheChecker()) StartSnapshots(parsed.options.snapshot_signal, checker->reporter());
}

__attribute__((constructor)) void AtLoad() {
  CallPastSanitizer();
  on_exit(&AtExit, nullptr);
  pthread_atfork(&BeforeFork, &ForkInParent, &ForkInChild);
  ReadOptionsAtLoad();
  RunMarkLoaded();  // last: a checker that was made only for snapshots is no sign of a verb
  if (UnderRun()) WatchMainThread();
  if (Checker* checker = Checker::IfMade()) checker->AwaitJournal();
}

}  // namespace
}  // namespace rdmacheck
