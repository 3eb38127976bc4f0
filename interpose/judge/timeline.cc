#include "interpose/judge/timeline.h"

#include <algorithm>
#include <new>
#include <unordered_map>

#include "interpose/judge/objects.h"
#include "interpose/base/clock.h"
#include "interpose/checker/checker.h"

namespace rdmacheck {

// Written by its thread alone; others read while it writes, so every field is atomic, and an entry that is being
// overwritten while it is read may mix two calls: the reader drops entries whose number changed meanwhile.
struct TimelineRing {
  struct Entry {
    std::atomic<uint64_t> number{0};
    std::atomic<const char*> what{nullptr};
    std::atomic<uint64_t> begin{0}, end{0};
    std::atomic<uint32_t> serial{0};
    std::atomic<int32_t> tid{0};
    std::atomic<int32_t> result{0};
    std::atomic<uint8_t> kind{0};
  };
  std::atomic<uint64_t> next{1};
  Entry entries[kTimelineEntries];
};

namespace {

double EpochOfMonotonic(uint64_t nanos) {
  const uint64_t now = NanosOf(CLOCK_MONOTONIC);
  return EpochNow() - static_cast<double>(now - nanos) * 1e-9;
}

}  // namespace

void Remember(ThreadRecord* self, const char* what, Kind kind, uint32_t serial, uint64_t begin, uint64_t end, int result) {
  if (self == nullptr) return;
  TimelineRing* ring = self->timeline.load(std::memory_order_relaxed);
  if (ring == nullptr) {
    ring = new (std::nothrow) TimelineRing;
    if (ring == nullptr) return;
    self->timeline.store(ring, std::memory_order_release);
  }
  const uint64_t number = ring->next.load(std::memory_order_relaxed);
  TimelineRing::Entry& entry = ring->entries[number % kTimelineEntries];
  const uint64_t now = begin == 0 || end == 0 ? NanosOf(CLOCK_MONOTONIC_COARSE) : 0;
  entry.number.store(0, std::memory_order_relaxed);
  entry.what.store(what, std::memory_order_release);
  entry.begin.store(begin == 0 ? now : begin, std::memory_order_relaxed);
  entry.end.store(end == 0 ? now : end, std::memory_order_relaxed);
  entry.serial.store(serial, std::memory_order_relaxed);
  entry.tid.store(self->tid.load(std::memory_order_relaxed), std::memory_order_relaxed);
  entry.result.store(result, std::memory_order_relaxed);
  entry.kind.store(static_cast<uint8_t>(kind), std::memory_order_relaxed);
  entry.number.store(number, std::memory_order_release);
  ring->next.store(number + 1, std::memory_order_release);
}

std::vector<TimelineEntry> TimelineOf(Checker& checker, Slot context) {
  Ledger& ledger = checker.ledger();
  const uint32_t wanted = context == 0 ? 0 : ledger.Get(context).serial;
  std::unordered_map<uint32_t, uint32_t> context_of;  // serial of an object → serial of its context
  auto learn = [&](const Record& record) {
    if (record.kind == Kind::kContext) {
      context_of[record.serial] = record.serial;
      return;
    }
    if (record.parents.empty()) return;
    const Slot up = ledger.ContextOf(record.parents[0]);
    if (up != 0) context_of[record.serial] = ledger.Get(up).serial;
  };
  // Of all contexts only the last are shown; objects that do not count may be among them.
  const std::vector<Record> living = wanted == 0 ? ledger.All(4 * kTimelineEntries) : ledger.All();
  const std::vector<DeadRecord> gone = ledger.Dead();
  if (wanted != 0) {
    for (const Record& record : living) learn(record);
    for (const DeadRecord& dead : gone) learn(dead.object);
  }
  auto belongs = [&](uint32_t serial) {
    if (wanted == 0) return true;
    auto it = context_of.find(serial);
    return it != context_of.end() && it->second == wanted;
  };
  std::unordered_map<int32_t, ThreadRef> threads;
  auto thread_of = [&](int32_t tid) {
    auto it = threads.find(tid);
    if (it == threads.end()) it = threads.emplace(tid, DescribeThread(tid)).first;
    return it->second;
  };
  std::vector<TimelineEntry> entries;
  ForEachThread([&](ThreadRecord& thread) {
    const TimelineRing* ring = thread.timeline.load(std::memory_order_acquire);
    if (ring == nullptr) return;
    for (const TimelineRing::Entry& entry : ring->entries) {
      const uint64_t number = entry.number.load(std::memory_order_acquire);
      if (number == 0) continue;
      const uint32_t serial = entry.serial.load(std::memory_order_relaxed);
      TimelineEntry line;
      line.what = entry.what.load(std::memory_order_relaxed);
      line.begin = EpochOfMonotonic(entry.begin.load(std::memory_order_relaxed));
      line.end = EpochOfMonotonic(entry.end.load(std::memory_order_relaxed));
      line.serial = serial;
      line.kind = NameOf(static_cast<Kind>(entry.kind.load(std::memory_order_relaxed)));
      line.result = entry.result.load(std::memory_order_relaxed);
      const int32_t tid = entry.tid.load(std::memory_order_relaxed);
      if (entry.number.load(std::memory_order_acquire) != number || !belongs(serial)) continue;
      line.thread = thread_of(tid);
      entries.push_back(std::move(line));
    }
  });
  // Creates and destroys cost their threads nothing here: the ledger knows them, to a hundredth of a second.
  auto add = [&](const char* what, const Record& record, uint32_t when, int32_t tid) {
    TimelineEntry line;
    line.what = what;
    line.begin = line.end = EpochOf(when);
    line.serial = record.serial;
    line.kind = NameOf(record.kind);
    line.thread = thread_of(tid);
    entries.push_back(std::move(line));
  };
  auto add_birth = [&](const Record& record) {
    const StackDepot::Node* node = checker.depot().Get(record.stack);
    add(node != nullptr && node->verb != nullptr ? node->verb : "created", record, record.born, record.thread);
  };
  size_t births = 0;
  for (auto it = living.rbegin(); it != living.rend() && births < kTimelineEntries; ++it) {
    if (it->origin == Origin::kUnknown || it->Has(kInherited) || !belongs(it->serial)) continue;
    add_birth(*it);
    ++births;
  }
  for (const DeadRecord& dead : gone) {
    if (!belongs(dead.object.serial)) continue;
    if (dead.object.origin != Origin::kUnknown) add_birth(dead.object);
    add(dead.destroyed_verb != nullptr ? dead.destroyed_verb : "destroyed", dead.object, dead.destroyed_when,
        dead.destroyed_thread);
  }
  for (const ThreadState& state : ThreadsInside()) {
    if (!belongs(state.serial)) continue;
    TimelineEntry line;
    line.what = state.verb;
    line.begin = EpochOfMonotonic(state.begin);
    line.serial = state.serial;
    line.kind = NameOf(static_cast<Kind>(state.kind));
    line.thread = thread_of(state.tid);
    entries.push_back(std::move(line));
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const TimelineEntry& a, const TimelineEntry& b) { return a.begin < b.begin; });
  if (entries.size() > kTimelineEntries) {
    entries.erase(entries.begin(), entries.end() - static_cast<ptrdiff_t>(kTimelineEntries));
  }
  return entries;
}

}  // namespace rdmacheck
