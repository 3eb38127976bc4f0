// The ledger: which objects live, who was made from whom, and the recent dead. It knows handles and kinds; it knows no
// verbs, prints nothing and judges nothing.
//
// Threads: every function may be called from any thread. State is spread over shards by handle; each shard's mutex is a
// leaf: nothing is called while it is held and no two are held at once (Fork aside). A parent that a thread used of late is
// found and pinned without a mutex, and without a cache line that other threads write (Pin).
//
// A destroy is two steps, BeginDestroy before the real call and EndDestroy after it: the address may be given out again
// by another thread before the real call returns, and a refused destroy must leave the object as it was.
#pragma once

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "interpose/ledger/entry.h"
#include "interpose/base/journal.h"
#include "interpose/base/mutex.h"
#include "interpose/base/stripes.h"
#include "interpose/ledger/handle_index.h"

namespace rdmacheck {

struct Birth {
  Kind kind = Kind::kNone;
  uintptr_t handle = 0;
  Numbers numbers;
  uint32_t stack = 0;
  int32_t thread = 0;
  Origin origin = Origin::kCreated;
  uint8_t flags = 0;
  absl::Span<const Slot> parents;  // pinned by the caller; the new entry takes the pins over
};

class Ledger {
 public:
  Ledger();
  ~Ledger();
  bool usable() const { return shards_ != nullptr; }  // false: memory was out, and nothing may be called
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Where a handle stands. Does not pin.
  Found Find(Kind kind, uintptr_t handle) const;

  // As Find; a live (or dying) entry is also pinned: its slot keeps its meaning until Unpin, or until the entry that
  // took the pin over as a parent goes.
  Found Pin(Kind kind, uintptr_t handle);
  void Unpin(Slot slot);

  // Adds an object. If the address is still known as live (its destroy went past us), the old entry silently goes.
  Slot Create(const Birth& birth);

  // Step one of a destroy. kLive: the object is now dying, and a Create for the same address makes a new one.
  Found BeginDestroy(Kind kind, uintptr_t handle, int32_t thread);
  // Step two. destroyed: the object goes among the dead, with the stack and verb that destroyed it.
  // Otherwise it is live again. Returns how many children it had when it went.
  uint32_t EndDestroy(Slot slot, bool destroyed, const char* verb, uint32_t stack, int32_t thread);

  // Objects whose destroy this thread has begun and not ended.
  std::vector<Slot> DyingBy(int32_t thread) const;

  // Forgets a live object without calling it destroyed (its context's close took it along).
  void Forget(Slot slot);

  // Does anything name this pinned (or dying) entry as its parent, or is about to? Takes no mutex.
  bool HasChildren(Slot slot) const { return ChildCount(EntryAt(slot)) != 0; }

  Record Get(Slot slot) const;  // the slot must be pinned, or be read as a snapshot that may be stale
  // Every live, dying and zombie entry, the oldest first; of more than `most` the youngest. Without those that have one of
  // these flags.
  std::vector<Record> All(size_t most = ~size_t{0}, uint8_t without = 0) const;
  std::vector<Record> ChildrenOf(Slot slot) const;   // direct ones that live
  std::vector<Record> Under(Slot context) const;     // everything that lives under it, the entry itself left out
  Slot ContextOf(Slot slot) const;                   // walks up; 0 if it leads to none
  bool FindDead(Kind kind, uintptr_t handle, DeadRecord* out) const;
  std::vector<DeadRecord> Dead() const;

  void SetFlags(Slot slot, uint8_t set, uint8_t clear = 0);
  // Of everything that lives under it.
  void SetFlagsUnder(Slot context, uint8_t set);
  void SetNumbers(Slot slot, const Numbers& numbers);
  void SetFailure(Slot slot, const char* verb, int result, uint32_t stack);
  // Replaces parent `from` (0: none) by `to` (0: none). Pins are the ledger's affair.
  void Reparent(Slot slot, Slot from, Slot to);

  // Events. Returns false if the object is not known.
  void Taken(Slot slot, bool async, const Taker& taker);
  // The acking thread's own events are taken off first: it is most likely to ack what it took.
  void Acked(Slot slot, bool async, uint64_t count, int32_t thread);
  EventCount EventsOf(Slot slot) const;

  bool AnythingMade() const { return next_serial_.load(std::memory_order_relaxed) != 1; }
  // A serial that all objects made so far are up to, and all that are made from now on beyond.
  Serial Mark();

  // fork(): Prepare takes every mutex, Parent gives them back, Child makes them anew and marks all that lives.
  void ForkPrepare();
  void ForkParent();
  // A shard that another thread was changing at that moment (the fork went past ForkPrepare) is put in order from its entries.
  void ForkChild() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  // That thread has jumped out of all that it was in: the shard that it was changing is put in order from its entries. And it
  // may have been about to count an event.
  void LeftBy(uint32_t thread) ABSL_NO_THREAD_SAFETY_ANALYSIS;

 private:
  static constexpr uint32_t kShardBits = 7, kShards = 1u << kShardBits;
  static constexpr uint32_t kChunkBits = 8, kChunk = 1u << kChunkBits, kMaxChunks = 4096;
  static_assert(kMaxChunks << kChunkBits == 1u << HandleIndex::kIndexBits, "an index fits a cell");
  // In Entry::children. Ever: something was once made from it, and stays said when the children have gone (a context that
  // nothing was ever made on was only probed). Striped: the rest is the number of its stripes, which stay with the slot.
  static constexpr uint32_t kEverParent = 1u << 31, kStriped = 1u << 30, kCountMask = kStriped - 1;
  static constexpr uint32_t kStripesInChunk = 64, kMaxStripeChunks = 1024;

  struct Key {
    Kind family;
    uintptr_t handle;
  };
  struct Shard;
  // The recent dead of a shard, a ring. What few objects have (failures, events, many parents) lies apart.
  class DeadRing {
   public:
    struct Extra {
      absl::InlinedVector<Slot, 4> more_parents;
      Failure failure;
      EventCount events;
    };
    void Add(const Entry& entry, const char* verb, uint32_t stack, uint32_t when, int32_t thread, Slot slot,
             uint32_t children, std::unique_ptr<Extra> extra);
    bool Has(const Key& key) const { return Find(key) != nullptr; }
    bool Get(const Key& key, DeadRecord* out) const;
    void AppendAll(std::vector<DeadRecord>* all) const;

   private:
    static constexpr uint32_t kSize = 32;
    struct Item {
      Numbers numbers;
      const char* verb = nullptr;
      Serial serial = 0;
      uint32_t stack = 0, born = 0, destroyed_stack = 0, destroyed_when = 0;
      int32_t thread = 0, destroyed_thread = 0;
      Slot slot = 0, parents[2] = {0, 0};
      uint32_t children = 0;
      bool was_parent = false;
      Kind kind = Kind::kNone;
      Origin origin = Origin::kCreated;
      uint8_t flags = 0;
      std::unique_ptr<Extra> extra;
    };
    struct Room {
      uintptr_t handles[kSize] = {};  // 0: none yet. Apart, to be looked through
      Item items[kSize];
    };
    const Item* Find(const Key& key) const;  // the latest of that handle
    DeadRecord RecordOf(uint32_t at) const;

    std::unique_ptr<Room> room_;  // made at the first death
    uint64_t deaths_ = 0;
  };

  // Of a shard: what its entries do not say.
  enum Part : uint8_t { kDyingList = 1, kMoreParents = 2, kFailures = 4, kEventCounts = 8, kExtraRows = 16, kAllParts = 31 };
  struct Dying {
    uint32_t index;
    int32_t thread;  // that destroys it; 0 where that is not known
  };

  struct alignas(64) Shard {
    mutable Mutex mutex;
    HandleIndex live ABSL_GUARDED_BY(mutex);
    std::vector<Dying> dying ABSL_GUARDED_BY(mutex);
    std::vector<uint32_t> free ABSL_GUARDED_BY(mutex);
    uint32_t used ABSL_GUARDED_BY(mutex) = 1;  // indices handed out; 0 is none
    uint8_t changing ABSL_GUARDED_BY(mutex) = 0;  // which of what cannot be made anew from the entries (Part)
    absl::flat_hash_map<uint32_t, absl::InlinedVector<Slot, 4>> more_parents ABSL_GUARDED_BY(mutex);
    absl::flat_hash_map<uint32_t, Failure> failures ABSL_GUARDED_BY(mutex);
    absl::flat_hash_map<uint32_t, EventCount> events ABSL_GUARDED_BY(mutex);
    absl::flat_hash_map<uint32_t, uint32_t> extra_rows ABSL_GUARDED_BY(mutex);  // of the journal
    DeadRing dead ABSL_GUARDED_BY(mutex);
    // Read without the mutex by whoever holds a pin.
    std::atomic<Entry*> chunks[kMaxChunks];  // zero by their memory's birth, so that what is not used is not touched

    Entry& At(uint32_t index) const { return chunks[index >> kChunkBits].load(std::memory_order_acquire)[index & (kChunk - 1)]; }
  };

  static Slot SlotOf(uint32_t shard, uint32_t index) { return index << kShardBits | shard; }
  Shard& ShardOf(uintptr_t handle) const { return shards_[Hash(handle) & (kShards - 1)]; }
  Shard& ShardAt(Slot slot) const { return shards_[slot & (kShards - 1)]; }
  Entry& EntryAt(Slot slot) const { return ShardAt(slot).At(slot >> kShardBits); }
  static uint64_t Hash(uintptr_t handle);
  static uint64_t Hash(const Key& key) { return Hash(key.handle + (static_cast<uintptr_t>(key.family) << 56)); }
  static Key KeyOf(const Entry& entry) { return {FamilyOf(entry.kind), entry.handle.load(std::memory_order_relaxed)}; }
  uint32_t IndexOf(const Shard& shard) const { return static_cast<uint32_t>(&shard - shards_); }

  // What a thread keeps to itself: serials it may give out, and where the parents lie that it used last.
  struct Recent {
    uint64_t hash = 0;  // of its key; no two keys of one handle have the same
    Slot slot = 0;
    Serial serial = 0;
  };
  struct PerThread {
    uint32_t ledger = 0;  // whose: ledgers are numbered from 1
    uint32_t round = 0;
    Serial next = 0, end = 0;
    uint32_t batches = 0;
    static constexpr size_t kRecent = 4;  // it comes out of each thread's stack
    Recent recent[kRecent];
  };
  static thread_local PerThread per_thread_ __attribute__((tls_model("initial-exec")));
  PerThread& Mine() const {
    PerThread& mine = per_thread_;
    if (__builtin_expect(mine.ledger != number_, false)) StartThread(&mine);
    return mine;
  }
  void StartThread(PerThread* mine) const;
  Serial NextSerial();

  // Children are counted by these three only.
  void AddChild(Entry& entry);
  void RemoveChild(Entry& entry);
  uint32_t ChildCount(const Entry& entry) const;  // never less than there are
  Stripes* StripesOf(uint32_t word) const;
  bool Spread(Entry& entry, uint32_t* word);

  // The slot's entry in the shard's index, or null.
  static uint32_t* FindLive(const Shard& shard, const Key& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mutex) {
    return shard.live.Find(Hash(key), [&](uint32_t index) {
      const Entry& entry = shard.At(index);
      return entry.handle.load(std::memory_order_relaxed) == key.handle && FamilyOf(entry.kind) == key.family;
    });
  }
  static void Reserve(Shard& shard) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mutex) {
    shard.live.Reserve([&](uint32_t index) { return Hash(KeyOf(shard.At(index))); });
  }
  Found FoundAt(const Shard& shard, uint32_t index, Standing standing) const;

  // To the journal, if there is one: the entry; that it lives, or does not; its failed call and its events.
  void Publish(const Shard& shard, uint32_t index) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mutex);
  void PublishLife(const Shard& shard, uint32_t index) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mutex);
  void PublishExtra(Shard& shard, uint32_t index) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mutex);
  void SetLife(Shard& shard, uint32_t index, Life life) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mutex) {
    shard.At(index).life.store(life);
    PublishLife(shard, index);
  }

  static Shard* MapShards();
  template <class Visit>
  void ForEachEntry(Visit visit) const;
  static void Repair(Shard& shard, uint8_t torn) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  Slot Add(Shard& shard, const Birth& birth, Serial serial, uint32_t born, absl::InlinedVector<Slot, 4>* dropped);
  uint32_t Allocate(Shard& shard) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mutex);
  // Takes the entry out of those that live; a no-op if another has its address.
  static void NoLongerLive(Shard& shard, uint32_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mutex);
  Record Copy(const Shard& shard, uint32_t index) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mutex);
  // Frees the slot; gives the parents whose pins must be dropped once the mutex is released.
  absl::InlinedVector<Slot, 4> Release(Shard& shard, uint32_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mutex);
  __attribute__((always_inline)) void UnpinAll(const absl::InlinedVector<Slot, 4>& parents) {
    for (Slot parent : parents) Unpin(parent);
  }
  Found Look(const Shard& shard, const Key& key) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mutex);

  Shard* const shards_;
  const uint32_t number_;  // of this ledger, in the process
  std::atomic<uint32_t> round_{0};  // grows with each Mark: serials that threads hold from before are not given out
  std::atomic<Stripes*> stripes_[kMaxStripeChunks] = {};
  // What follows is written now and then: apart from what everybody reads.
  alignas(64) std::atomic<Serial> next_serial_{1};
  std::atomic<uint32_t> next_stripes_{1};
  std::atomic<Serial> counted_after_{0};  // events of the objects up to this one may have gone past us
};

}  // namespace rdmacheck
