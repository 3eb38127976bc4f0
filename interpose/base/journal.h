// The journal: a file, mapped and shared, that holds a copy of what the ledger, the stack depot and the thread records know,
// so that it outlives a process that is killed. The layout is report/journal_format.h.
//
// A copy, not the ledger's own memory: a forked child has that as it was at the fork, whatever made it (fork, _Fork, clone),
// and no fork has to copy what lies in a file. The mapping is not there in a child (MADV_DONTFORK), and the one pointer to
// it lies on a page that the kernel wipes there (MADV_WIPEONFORK): where it is null, nothing is written.
//
// Room is reserved before it is written to (MADV_POPULATE_WRITE), for a write to a page that the disk has no room for
// ends the process by SIGBUS. No descriptor is kept. Unlinked by JournalEnd().
//
// Threads: any. The one mutex is a leaf, and is taken where a segment or a record is added. Rows are written by whoever
// owns what they copy: under the shard's mutex, or by the thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "report/journal_format.h"

namespace rdmacheck {

struct JournalStart {
  uint32_t flags = 0;       // journal::HeaderFlag
  uint32_t own_module = 0;
  uint64_t started_monotonic = 0, started_epoch = 0;
  void (*on_full)() = nullptr;  // called once when there is no more room, perhaps with locks held: must only note it
};

// Makes the file, which must not be there, unless it is the journal of a process that has ended. 0, or an errno value.
int JournalOpen(const std::string& path, const JournalStart& start);
// What another process's journal at that path says, where JournalOpen returned EEXIST: its id; 0: it is no journal.
int JournalOwner(const std::string& path);
// Says that the process ended by itself, and unlinks the file. Nothing is written from then on.
void JournalEnd();
void JournalSetFlag(uint32_t flag);
// Room for so many bytes more, so that what follows makes no system call.
void JournalReserve(size_t bytes);
// In a forked child, before anything else of this file.
void JournalForkChild();
// That thread has jumped out of all that it was in here; what it was adding is not seen by the reader.
void JournalLeftBy(uint32_t thread);

namespace internal {
struct JournalPage {
  std::atomic<char*> base{nullptr};
};
inline JournalPage no_journal;
inline std::atomic<JournalPage*> journal_page{&no_journal};
inline constexpr uint32_t kObjectSegments = 8192;  // slots beyond so many are not kept
inline std::atomic<uint16_t> object_segments[kObjectSegments];
inline constexpr size_t kVerbs = 1024;
inline std::atomic<const char*> journal_verbs[kVerbs];
uint32_t AddObjectSegment(char* base, uint32_t number);
void AddVerb(const char* verb, std::atomic<const char*>* place);
}  // namespace internal

// Null: there is none, or this process is the child of the one that it belongs to.
inline char* JournalBase() {
  return internal::journal_page.load(std::memory_order_acquire)->base.load(std::memory_order_acquire);
}

template <class Row>
Row* JournalRow(char* base, uint32_t place) {
  return reinterpret_cast<Row*>(base + place);
}

// The row of a slot. Null: there is none, and none was to be made or there is no room.
inline journal::ObjectRow* JournalObject(char* base, uint32_t slot, bool make) {
  const uint32_t number = slot / journal::kObjectsInSegment;
  uint32_t segment = 0;
  if (number < internal::kObjectSegments) segment = internal::object_segments[number].load(std::memory_order_acquire);
  if (__builtin_expect(segment == 0, false)) {
    if (make) segment = internal::AddObjectSegment(base, number);
    if (segment == 0) return nullptr;
  }
  return JournalRow<journal::ObjectRow>(base, segment * journal::kSegmentBytes) + slot % journal::kObjectsInSegment;
}

// A row each, as its place in the file; 0: no room. Those of threads are never given back.
uint32_t JournalTakeThread();
uint32_t JournalTakeExtra();
void JournalFreeExtra(uint32_t place);

// Adds a record. Its body is of at most a few KiB.
void JournalRecord(journal::RecordType type, uint64_t key, const void* body, size_t body_bytes, std::string_view text);

// A row names a verb by the address of its name: the first time, the name is added.
inline void JournalVerb(const char* verb) {
  std::atomic<const char*>& place =
      internal::journal_verbs[(reinterpret_cast<uintptr_t>(verb) * 0x9E3779B97F4A7C15u) >> 54];
  if (__builtin_expect(place.load(std::memory_order_relaxed) != verb, false)) internal::AddVerb(verb, &place);
}

// What was written before is in the file before what is written after. ThreadSanitizer knows no fences: with it only the compiler
// keeps the order.
inline void JournalOrder() {
#ifdef __SANITIZE_THREAD__
  std::atomic_signal_fence(std::memory_order_release);
#else
  std::atomic_thread_fence(std::memory_order_release);
#endif
}

// Around what is written to a row. The compiler keeps the order, and a process that is killed has done what it did in order.
inline void BeginRow(std::atomic<uint32_t>* state) {
  state->store(journal::kWriting, std::memory_order_relaxed);
  JournalOrder();
}
inline void EndRow(std::atomic<uint32_t>* state, uint32_t value) { state->store(value, std::memory_order_release); }

}  // namespace rdmacheck
