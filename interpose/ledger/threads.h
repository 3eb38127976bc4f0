// What each thread of the program is doing at this moment, as far as verbs go: which call it is inside, on what, since
// when. Written by the thread itself with plain atomic stores, so no event path takes a lock; read by anybody.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "interpose/base/journal.h"
#include "interpose/ledger/kind.h"

namespace rdmacheck {

// kRelease: of what is no verbs object (a device list, an rdma_cm id): nothing that an event could point to.
enum class Activity : uint8_t { kNone, kGetCqEvent, kGetAsyncEvent, kGetCmEvent, kDestroy, kRelease };

// Of a verb on its way through a hook: has the real one returned, and zero (or nothing)?
enum class Returned : uint8_t { kNot, kZero, kOther };

struct alignas(64) ThreadRecord {
  ThreadRecord* next = nullptr;       // never unlinked; reused once its thread has exited
  std::atomic<int32_t> tid{0};        // 0: free for reuse
  // The call in progress. `sequence` is odd while one is; readers take it before and after.
  std::atomic<uint32_t> sequence{0};
  std::atomic<Activity> activity{Activity::kNone};
  std::atomic<const char*> verb{nullptr};
  std::atomic<uintptr_t> object{0};   // the channel, context or object it was called with
  std::atomic<uint8_t> kind{0};
  std::atomic<uint32_t> serial{0};
  std::atomic<uint32_t> stack{0};     // kNoStack where stacks of gets are not needed
  std::atomic<uint64_t> begin{0};     // CLOCK_MONOTONIC, ns
  // The last calls of this thread (judge/timeline.h); made at its first.
  std::atomic<struct TimelineRing*> timeline{nullptr};
  // Only the thread itself reads and writes these.
  class StackMemo* memo = nullptr;    // stacks it takes often; stays with the record
  uint32_t disabled = 0;              // rdmacheck_disable() depth
  Returned returned = Returned::kNot; // of the call in progress
  uint32_t injected = 0;              // 1 + the index of the injected fault that its call under way fails by
  std::atomic<uint64_t> calls{0};     // watched calls; of all threads that had this record. Only the thread writes it
  uint32_t journal = 0;               // place of its row there; 0: not asked for yet, kNoRow: there is none
  uint32_t ordinal = 0;               // of the record: threads that live at one time have different ones
};

inline constexpr uint32_t kNoRow = 1;

// A consistent copy of another thread's call in progress.
struct ThreadState {
  int32_t tid = 0;
  Activity activity = Activity::kNone;
  const char* verb = nullptr;
  uintptr_t object = 0;
  uint8_t kind = 0;
  uint32_t serial = 0;
  uint32_t stack = 0;
  uint64_t begin = 0;
  uint32_t sequence = 0;
};

// This thread's record, made at its first verb. Never null unless memory is out.
ThreadRecord* ThisThread();
ThreadRecord* ThisThreadIfMade();
ThreadRecord* FirstThread();
// To be called in each thread that has a record, as it ends.
void OnThreadEnd(void (*function)());

void TakeThreadRow(ThreadRecord* self);
// Of the calling thread, in the journal; null: there is none.
inline journal::ThreadRow* ThreadRowOf(ThreadRecord* self) {
  char* const base = JournalBase();
  if (__builtin_expect(base == nullptr, true)) return nullptr;
  if (__builtin_expect(self->journal == 0, false)) TakeThreadRow(self);
  return self->journal <= kNoRow ? nullptr : JournalRow<journal::ThreadRow>(base, self->journal);
}

void BeginActivity(ThreadRecord* self, Activity activity, const char* verb, uintptr_t object, uint8_t kind,
                   uint32_t serial, uint32_t stack, uint64_t now);
void EndActivity(ThreadRecord* self);

// Visits every record, of threads that live and of threads that have gone.
template <class Visit>
void ForEachThread(Visit visit) {
  for (ThreadRecord* at = FirstThread(); at != nullptr; at = at->next) visit(*at);
}

// For the journal, which has no counts of stacks.
inline void CountCreated(ThreadRecord* self, Kind kind) {
  if (self == nullptr) return;
  if (journal::ThreadRow* row = ThreadRowOf(self)) {
    std::atomic<uint64_t>& count = row->created[static_cast<size_t>(kind)];
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
}

// A copy of it, taken field by field: consistent in the thread itself, elsewhere only if `sequence` is still the same after.
ThreadState StateOf(const ThreadRecord& thread);

// Every thread that is inside a call of ours now; threads that have exited (even inside one) are left out.
std::vector<ThreadState> ThreadsInside();
// Quick: is any thread but `self` inside one of the event gets / inside a destroy?
bool AnyInside(const ThreadRecord* self, bool destroys);

bool ThreadLives(int32_t tid);
// Is this thread blocked in read(2) or write(2) on that descriptor now? False also where the kernel does not say.
bool ThreadBlocksOn(int32_t tid, int fd);
bool HasOtherThreads();            // does the program have more than one thread now?
void MarkOwnThread();              // the calling thread is ours, not the program's
std::string ThreadName(int32_t tid);  // as the kernel has it; empty if it is gone

uint64_t CallsOfAllThreads();

void ThreadsForkChild();

}  // namespace rdmacheck
