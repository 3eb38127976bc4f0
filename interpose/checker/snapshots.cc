#include "interpose/checker/snapshots.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include <atomic>

#include "interpose/checker/checker.h"
#include "interpose/checker/guard.h"
#include "interpose/ledger/threads.h"
#include "interpose/options/run_mark.h"

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
      checker->reporter().WriteNextSnapshot();
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

void SnapshotsForkChild() {
  // The thread that writes snapshots is the parent's, and so are those asked for so far. What this process is asked for
  // is written when it ends.
  sem_init(&snapshot_wanted, 0, 0);
  snapshots_asked.store(0);
  snapshots_written.store(0);
}

}  // namespace rdmacheck
