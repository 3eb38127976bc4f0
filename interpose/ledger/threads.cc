#include "interpose/ledger/threads.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#include "interpose/base/quiet_lock.h"
#include "interpose/base/proc_files.h"
#include "interpose/base/stripes.h"
#include "interpose/base/thread_id.h"
#include "report/frugal.h"
#include "report/process_id.h"

namespace rdmacheck {
namespace {

std::atomic<ThreadRecord*> all_threads{nullptr};
std::atomic<uint32_t> records{0};
thread_local ThreadRecord* this_thread __attribute__((tls_model("initial-exec"))) = nullptr;
pthread_key_t exit_key;
Mutex exit_mutex;  // the key is made once
bool exit_key_asked = false;
std::atomic<bool> have_exit_key{false};

std::atomic<void (*)()> at_thread_end{nullptr};

void OnThreadExit(void* record) {
  ThreadRecord* thread = static_cast<ThreadRecord*>(record);
  if (void (*const function)() = at_thread_end.load(std::memory_order_acquire)) function();
  EndActivity(thread);  // a thread that was cancelled inside a get
  thread->disabled = 0;
  if (thread->journal != 0) {
    if (journal::ThreadRow* row = ThreadRowOf(thread)) row->tid.store(0, std::memory_order_release);
  }
  this_thread = nullptr;
  thread->tid.store(0, std::memory_order_release);
}

void MakeExitKey() {
  QuietLock lock(&exit_mutex);
  if (exit_key_asked) return;
  exit_key_asked = true;
  have_exit_key.store(pthread_key_create(&exit_key, &OnThreadExit) == 0, std::memory_order_release);
}

}  // namespace

ThreadRecord* ThisThread() {
  if (this_thread != nullptr) return this_thread;
  const int32_t tid = static_cast<int32_t>(ThisThreadId());
  if (!have_exit_key.load(std::memory_order_acquire)) MakeExitKey();
  ThreadRecord* record = nullptr;
  for (ThreadRecord* at = all_threads.load(std::memory_order_acquire); at != nullptr; at = at->next) {
    int32_t none = 0;
    if (at->tid.compare_exchange_strong(none, tid, std::memory_order_acq_rel)) {
      record = at;
      break;
    }
  }
  if (record == nullptr) {
    record = new (std::nothrow) ThreadRecord;
    if (record == nullptr) return nullptr;
    record->tid.store(tid, std::memory_order_relaxed);
    record->ordinal = records.fetch_add(1, std::memory_order_relaxed);
    record->next = all_threads.load(std::memory_order_relaxed);
    while (!all_threads.compare_exchange_weak(record->next, record, std::memory_order_acq_rel)) {
    }
  }
  if (have_exit_key.load(std::memory_order_acquire)) pthread_setspecific(exit_key, record);
  this_thread = record;
  if (journal::ThreadRow* row = ThreadRowOf(record)) row->tid.store(tid, std::memory_order_release);
  stripe_of_this_thread = record->ordinal % kStripes;
  return record;
}

void OnThreadEnd(void (*function)()) { at_thread_end.store(function, std::memory_order_release); }

ThreadRecord* ThisThreadIfMade() { return this_thread; }

ThreadRecord* FirstThread() { return all_threads.load(std::memory_order_acquire); }

static_assert(static_cast<uint32_t>(Activity::kGetCqEvent) == journal::kGetCqEvent &&
              static_cast<uint32_t>(Activity::kGetAsyncEvent) == journal::kGetAsyncEvent &&
              static_cast<uint32_t>(Activity::kGetCmEvent) == journal::kGetCmEvent &&
              static_cast<uint32_t>(Activity::kDestroy) == journal::kDestroy &&
              static_cast<uint32_t>(Activity::kRelease) == journal::kRelease);

void TakeThreadRow(ThreadRecord* self) {
  const uint32_t place = JournalTakeThread();
  self->journal = place == 0 ? kNoRow : place;
  if (place != 0) JournalRow<journal::ThreadRow>(JournalBase(), place)->tid.store(self->tid.load(std::memory_order_relaxed));
}

void BeginActivity(ThreadRecord* self, Activity activity, const char* verb, uintptr_t object, uint8_t kind,
                   uint32_t serial, uint32_t stack, uint64_t now) {
  // Release and acquire on every field: a reader that has seen one of a new call also sees that the sequence went on.
  self->verb.store(verb, std::memory_order_release);
  self->object.store(object, std::memory_order_release);
  self->kind.store(kind, std::memory_order_release);
  self->serial.store(serial, std::memory_order_release);
  self->stack.store(stack, std::memory_order_release);
  self->begin.store(now, std::memory_order_release);
  // Only this thread writes it, so no locked instruction is needed to count.
  self->sequence.store(self->sequence.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  // Sequentially consistent: of two threads that enter a get and a destroy at once, at least one sees the other.
  self->activity.store(activity, std::memory_order_seq_cst);
  if (journal::ThreadRow* row = ThreadRowOf(self)) {
    BeginRow(&row->state);
    row->verb = reinterpret_cast<uintptr_t>(verb);
    row->object = object;
    row->begin = now;
    row->serial = serial;
    row->stack = stack;
    row->kind = kind;
    EndRow(&row->state, static_cast<uint32_t>(activity));
    JournalVerb(verb);
  }
}

void EndActivity(ThreadRecord* self) {
  if (self->activity.load(std::memory_order_relaxed) == Activity::kNone) return;
  self->activity.store(Activity::kNone, std::memory_order_release);
  if (journal::ThreadRow* row = ThreadRowOf(self)) EndRow(&row->state, journal::kNothing);
  self->sequence.store(self->sequence.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

ThreadState StateOf(const ThreadRecord& thread) {
  ThreadState state;
  state.sequence = thread.sequence.load(std::memory_order_acquire);
  state.activity = thread.activity.load(std::memory_order_seq_cst);
  state.tid = thread.tid.load(std::memory_order_acquire);
  state.verb = thread.verb.load(std::memory_order_acquire);
  state.object = thread.object.load(std::memory_order_acquire);
  state.kind = thread.kind.load(std::memory_order_acquire);
  state.serial = thread.serial.load(std::memory_order_acquire);
  state.stack = thread.stack.load(std::memory_order_acquire);
  state.begin = thread.begin.load(std::memory_order_acquire);
  return state;
}

std::vector<ThreadState> ThreadsInside() {
  std::vector<ThreadState> states;
  for (ThreadRecord* at = all_threads.load(std::memory_order_acquire); at != nullptr; at = at->next) {
    const ThreadState state = StateOf(*at);
    if (state.activity == Activity::kNone) continue;
    if (at->sequence.load(std::memory_order_acquire) != state.sequence) continue;  // it moved on while we looked
    if (state.tid == 0 || !ThreadLives(state.tid)) continue;
    states.push_back(state);
  }
  return states;
}

bool AnyInside(const ThreadRecord* self, bool destroys) {
  for (ThreadRecord* at = all_threads.load(std::memory_order_acquire); at != nullptr; at = at->next) {
    if (at == self) continue;
    const Activity activity = at->activity.load(std::memory_order_seq_cst);
    if (activity == Activity::kNone) continue;
    if (destroys ? activity == Activity::kDestroy
                 : (activity == Activity::kGetCqEvent || activity == Activity::kGetAsyncEvent)) {
      return true;
    }
  }
  return false;
}

bool ThreadLives(int32_t tid) {
  if (this_thread != nullptr && tid != 0 && tid == this_thread->tid.load(std::memory_order_relaxed)) return true;
  // Who calls verbs has a record, which the thread gives back when it exits.
  if (Frugal()) {
    for (ThreadRecord* at = FirstThread(); at != nullptr; at = at->next) {
      if (at->tid.load(std::memory_order_acquire) == tid) return tid != 0;
    }
    return false;
  }
  return tid != 0 && syscall(SYS_tgkill, ProcessId(), tid, 0) == 0;
}

bool ThreadBlocksOn(int32_t tid, int fd) {
  if (Frugal()) return false;
  const TaskCall call = ReadTaskCall(tid);
  // An rdma_cm event is asked for by a write.
  return (call.number == SYS_read || call.number == SYS_write) && static_cast<int>(call.arguments[0]) == fd;
}

namespace {
std::atomic<int32_t> own_thread{0};  // writes snapshots; there is one at most, and it never ends
}

void MarkOwnThread() { own_thread.store(static_cast<int32_t>(ThisThreadId())); }

bool HasOtherThreads() {
  return Frugal() || CountTasks() != (own_thread.load() != 0 ? 2 : 1);
}

std::string ThreadName(int32_t tid) {
  if (Frugal()) return std::string();
  char name[64];
  const size_t n = ReadTaskFile(tid, "comm", name, sizeof(name));
  return n > 1 ? std::string(name, n - 1) : std::string();
}

uint64_t CallsOfAllThreads() {
  uint64_t calls = 0;
  ForEachThread([&calls](const ThreadRecord& each) { calls += each.calls.load(std::memory_order_relaxed); });
  return calls;
}

void ThreadsForkChild() {
  own_thread.store(0);
  // The key is made already, or it was being made by a thread that does not exist here: then it is made again.
  if (exit_mutex.Renew()) exit_key_asked = have_exit_key.load();
  ForEachThread([](ThreadRecord& each) {
    each.calls.store(0, std::memory_order_relaxed);
    each.journal = 0;
  });
  // Only the forking thread goes on; the others' records are free.
  for (ThreadRecord* at = all_threads.load(std::memory_order_acquire); at != nullptr; at = at->next) {
    if (at != this_thread) {
      at->activity.store(Activity::kNone);
      at->tid.store(0);
      // Its thread may have been writing them.
      at->memo = nullptr;
      at->timeline.store(nullptr);
    }
  }
  if (this_thread != nullptr) this_thread->tid.store(static_cast<int32_t>(ThisThreadId()));
}

}  // namespace rdmacheck
