// When things happen in a process: at load, at fork, at the end, on a signal. All ordering is in this file.
//
// At load: as little as possible, for most processes that inherit LD_PRELOAD never call a verb. The report is written by
// a handler that on_exit() has registered before anybody else could: it runs after every destructor of every library,
// so what a library releases in its own destructor is not reported (measured: anchors of docs/design.md, "the end").
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "interpose/hooks/bypass.h"
#include "interpose/hooks/past_sanitizer.h"
#include "interpose/judge/event_rules.h"
#include "interpose/ledger/arena.h"
#include "interpose/ledger/unwind.h"
#include "interpose/judge/faults.h"
#include "interpose/judge/judge.h"
#include "interpose/rdmacm/cm_judge.h"
#include "interpose/ledger/own_stack.h"
#include "interpose/ledger/stack_bounds.h"
#include "interpose/runtime/guard.h"
#include "interpose/runtime/run_mark.h"
#include "interpose/runtime/runtime.h"
#include "report/frugal.h"
#include "report/process_id.h"

namespace rdmacheck {

void WriteSnapshotsDue();
void GrowthForkChild();

namespace {

// ---- snapshot_signal: the handler may do next to nothing, so it wakes a thread that exists only when asked for.

sem_t snapshot_wanted;
std::atomic<uint32_t> snapshots_asked{0}, snapshots_written{0};

// Returns whether the program's status becomes exitcode=.
bool ReportAtExit(Runtime& runtime, int status) {
  WriteSnapshotsDue();
  JudgeExit(runtime);
  Reporter& reporter = runtime.reporter();
  const int exitcode = runtime.options().exitcode;
  // A forked child that called no verb has nothing to say, and must not replace its parent's report.
  if (runtime.forked() && !reporter.anything()) {
    if (CallsOfAllThreads() > 0) reporter.WriteJson(true, status, true);
    return false;
  }
  // Nor must one that only asked for snapshots and called no verb (the shell or `timeout` in front of a program).
  if (!reporter.anything() && runtime.ledger().last_serial() == 0 && runtime.depot().size() == 0) return false;
  const bool change = status == 0 && exitcode != 0 && reporter.errors() > 0;
  if (runtime.options().verbosity >= 1 || reporter.sink().has_json() || UnderRun()) {
    for (const std::string& sentence : CallersThatBypass()) runtime.Unwatched(sentence);
  }
  if (runtime.options().verbosity >= 1) {
    for (const std::string& line : reporter.UnmatchedSuppressions()) {
      reporter.Tell("suppression " + line + " matched nothing");
    }
    reporter.Tell("hooked: " + std::to_string(runtime.hooks_slots.load()) + " slots of contexts, " +
                  std::to_string(runtime.hooks_dlsym.load()) + " look-ups by dlsym");
    for (const std::string& sentence : runtime.UnwatchedSentences()) reporter.Tell("not watched: " + sentence);
  }
  reporter.Summarize(true);
  reporter.WriteJson(true, change ? exitcode : status);
  return change;
}

void AtExit(int status, void*) {
  Runtime* runtime = Runtime::IfMade();
  if (runtime == nullptr) return RunMarkEnded(status);
  bool change = false;
  Guarded(*runtime, [&] {
    change = ReportAtExit(*runtime, status);
  });
  RunMarkEnded(change ? runtime->options().exitcode : status);
  if (!change) return;
  // What exit() itself would do next. Not fflush(nullptr): that takes the lock of each stream, and another thread that
  // waits in getchar() holds its own forever; the C library's last flush takes none.
  fcloseall();
  _exit(runtime->options().exitcode);
}

void BeforeFork() {
  Runtime* runtime = Runtime::IfMade();
  if (runtime == nullptr) return;
  Call call(*runtime, "fork", Kind::kNone, __builtin_return_address(0));
  if (!HasAmpleStack()) call.PrepareStack();
  Guarded(*runtime, [&] {
    SetForkStack(call.StackId());
  });
  runtime->ForkPrepare();
}
void InParent() {
  if (Runtime* runtime = Runtime::IfMade()) runtime->ForkParent();
}
void InChild() {
  ForgetProcessId();
  ArenaForkChild();
  UnwinderForkChild();
  OwnStacksForkChild();
  Runtime::ForkChildEarly();
  Runtime* runtime = Runtime::IfMade();
  if (runtime == nullptr) return;
  Guarded(*runtime, [&] {
    GrowthForkChild();
    EventRulesForkChild();
    CmForkChild();
    CreatesForkChild();
    runtime->ForkChild();
  });
  // The thread that writes snapshots is the parent's, and so are those asked for so far. What this process is asked for
  // is written when it ends.
  sem_init(&snapshot_wanted, 0, 0);
  snapshots_asked.store(0);
  snapshots_written.store(0);
  RunMarkForked();
}

void OnSnapshotSignal(int) {
  const int saved = errno;
  snapshots_asked.fetch_add(1);
  sem_post(&snapshot_wanted);
  errno = saved;
}

void WriteOneSnapshot() {
  if (Runtime* runtime = Runtime::GetIfPossible()) {
    Guarded(*runtime, [&] {
      runtime->reporter().WriteNextSnapshot();
    });
  }
  snapshots_written.fetch_add(1);
}

void* WriteSnapshots(void*) {
  MarkOwnThread();
  for (;;) {
    while (sem_wait(&snapshot_wanted) != 0) {
    }
    WriteOneSnapshot();
  }
  return nullptr;
}

}  // namespace

void ForkedUnseen() { InChild(); }

// The signal may have come a moment before the end, and who sent it waits for the file: what nobody has begun is written
// here, what our thread is writing is waited for, a second at most.
void WriteSnapshotsDue() {
  for (int i = 0; i < 1000 && snapshots_written.load() != snapshots_asked.load(); ++i) {
    if (sem_trywait(&snapshot_wanted) == 0) {
      WriteOneSnapshot();
      continue;
    }
    const timespec moment{0, 1000000};
    nanosleep(&moment, nullptr);
  }
}

void StartSnapshots(int signal_number, Reporter& reporter) {
  sem_init(&snapshot_wanted, 0, 0);
  struct sigaction before;
  if (sigaction(signal_number, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) {
    reporter.Tell("snapshot_signal=" + std::to_string(signal_number) +
                  ": the program handles this signal itself, or it cannot be handled; no snapshots will be written");
    return;
  }
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = &OnSnapshotSignal;
  action.sa_flags = SA_RESTART;
  sigaction(signal_number, &action, nullptr);
  sigset_t all, mask;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, &WriteSnapshots, nullptr) == 0) {
    pthread_setname_np(thread, "rdmacheck");
    pthread_detach(thread);
  }
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

void StartRunSnapshots(Reporter& reporter) {
  struct sigaction present;
  if (sigaction(kRunSnapshotSignal, nullptr, &present) != 0 || present.sa_handler != SIG_DFL) return;
  StartSnapshots(kRunSnapshotSignal, reporter);
}

namespace {

void ReadOptionsAtLoad() {
  const char* options = getenv("RDMACHECK_OPTIONS");
  if (options == nullptr) return;
  const ParseResult parsed = ParseOptions(options);
  if (parsed.help) {
    const std::string table = HelpTable();
    if (write(STDERR_FILENO, table.data(), table.size()) < 0) return;
  }
  // A snapshot can be asked for before the first verb.
  if (parsed.options.snapshot_signal <= 0) return;
  if (Runtime* runtime = Runtime::GetIfPossible()) StartSnapshots(parsed.options.snapshot_signal, runtime->reporter());
}

__attribute__((constructor)) void AtLoad() {
  CallPastSanitizer();
  on_exit(&AtExit, nullptr);
  pthread_atfork(&BeforeFork, &InParent, &InChild);
  ReadOptionsAtLoad();
  RunMarkLoaded();  // last: a runtime that was made only for snapshots is no sign of a verb
}

}  // namespace
}  // namespace rdmacheck

// The program is about to forbid itself system calls (hooks/prctl_entry.c). What a report will need is mapped now.
extern "C" void rdmacheck_seccomp_follows(void) {
  if (rdmacheck::Runtime::IfMade() == nullptr || rdmacheck::Frugal()) return;
  rdmacheck::ProcessId();
  rdmacheck::ArenaPrefill(size_t{16} << 20);
  rdmacheck::SetFrugal();
}
