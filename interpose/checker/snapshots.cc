#include "interpose/checker/snapshots.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <atomic>

#include "interpose/base/proc_files.h"
#include "interpose/base/thread_id.h"
#include "interpose/checker/checker.h"
#include "interpose/checker/guard.h"
#include "interpose/ledger/threads.h"
#include "interpose/options/run_mark.h"
#include "report/frugal.h"
#include "report/process_id.h"

namespace rdmacheck {
namespace {

// The handler may do next to nothing, so it wakes a thread.
sem_t snapshot_wanted;
std::atomic<uint32_t> snapshots_asked{0}, snapshots_written{0};

void OnSnapshotSignal(int) {
  const int saved = errno;
  snapshots_asked.fetch_add(1);
  sem_post(&snapshot_wanted);
  errno = saved;
}

void WriteOneSnapshot() {
  if (Checker* checker = Checker::IfMade()) {
    checker->SeeFork();
    Guarded(*checker, [&] {
      checker->parts().before_snapshot(*checker);
      checker->reporter().WriteNextSnapshot();
    });
  }
  snapshots_written.fetch_add(1);
}

// A process also ends when its last thread returns or calls pthread_exit, and this thread of ours would keep it from that. Where
// the main thread has left, which hardly any does, we look now and then whether all have.
std::atomic<bool> main_has_left{false};
sigset_t programs_mask;

void OnMainThreadExit(void*) {
  main_has_left.store(true);
  sem_post(&snapshot_wanted);
}

bool IsLastThread() {
  if (Frugal() || HasOtherThreads()) return false;
  char text[512];
  text[ReadTaskFile(ProcessId(), "status", text, sizeof(text) - 1)] = '\0';
  return strstr(text, "\nState:\tZ") != nullptr;
}

bool WaitForWish() {
  if (!main_has_left.load()) {
    while (sem_wait(&snapshot_wanted) != 0) {
    }
  } else {
    const timespec moment{0, 50000000};
    nanosleep(&moment, nullptr);
    if (sem_trywait(&snapshot_wanted) != 0) return false;
  }
  return snapshots_written.load() != snapshots_asked.load();
}

void* WriteSnapshots(void*) {
  MarkOwnThread();
  for (;;) {
    if (WaitForWish()) WriteOneSnapshot();
    if (!main_has_left.load() || !IsLastThread()) continue;
    // As the C library does in the last thread.
    pthread_sigmask(SIG_SETMASK, &programs_mask, nullptr);
    exit(0);
  }
  return nullptr;
}

}  // namespace

void WatchMainThread() {
  static pthread_key_t key;
  static bool watched = false;
  if (watched || ThisThreadId() != static_cast<uint32_t>(ProcessId())) return;
  watched = pthread_key_create(&key, &OnMainThreadExit) == 0 && pthread_setspecific(key, &key) == 0;
}

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
    reporter.Tell(Is<Sentence::kSignalInUse>(signal_number));
    return;
  }
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = &OnSnapshotSignal;
  action.sa_flags = SA_RESTART;
  sigaction(signal_number, &action, nullptr);
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &programs_mask);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, &WriteSnapshots, nullptr) == 0) {
    pthread_setname_np(thread, "rdmacheck");
    pthread_detach(thread);
  }
  pthread_sigmask(SIG_SETMASK, &programs_mask, nullptr);
}

void StartRunSnapshots(Reporter& reporter) {
  struct sigaction present;
  if (sigaction(kRunSnapshotSignal, nullptr, &present) != 0 || present.sa_handler != SIG_DFL) return;
  StartSnapshots(kRunSnapshotSignal, reporter);
}

void SnapshotsForkChild() {
  // The thread that writes snapshots is the parent's, and so are those asked for so far. What this process is asked for
  // is written when it ends.
  sem_init(&snapshot_wanted, 0, 0);
  snapshots_asked.store(0);
  snapshots_written.store(0);
}

}  // namespace rdmacheck
