#include "interpose/ledger/ledger.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "interpose/base/clock.h"

namespace rdmacheck {

thread_local Ledger::PerThread Ledger::per_thread_ __attribute__((tls_model("initial-exec")));

namespace {

// What is stored before is stored before, for a signal handler of this thread that jumps away: nothing is left half done
// that could not be put in order (Repair).
void InThisOrder() { std::atomic_signal_fence(std::memory_order_seq_cst); }

// While it lives, that part of a shard is neither as it was nor as it will be.
class Changes {
 public:
  Changes(uint8_t* changing, uint8_t part) : changing_(changing), part_(part) {
    *changing_ = static_cast<uint8_t>(*changing_ | part_);
    InThisOrder();
  }
  ~Changes() {
    InThisOrder();
    *changing_ = static_cast<uint8_t>(*changing_ & ~part_);
  }
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

 private:
  uint8_t* const changing_;
  const uint8_t part_;
};

}  // namespace

const Ledger::DeadRing::Item* Ledger::DeadRing::Find(const Key& key) const {
  for (uint64_t n = deaths_; n > 0 && n + kSize > deaths_; --n) {
    const uint32_t at = (n - 1) % kSize;
    if (room_->handles[at] == key.handle && FamilyOf(room_->items[at].kind) == key.family) return &room_->items[at];
  }
  return nullptr;
}

void Ledger::DeadRing::Add(const Entry& entry, const char* verb, uint32_t stack, uint32_t when, int32_t thread, Slot slot,
                           uint32_t children, std::unique_ptr<Extra> extra) {
  if (__builtin_expect(room_ == nullptr, false)) room_.reset(new (std::nothrow) Room);
  if (room_ == nullptr) return;
  const uint32_t at = deaths_ % kSize;
  Item& item = room_->items[at];
  room_->handles[at] = 0;
  InThisOrder();
  item.numbers = entry.numbers;
  item.verb = verb;
  item.serial = entry.serial.load(std::memory_order_relaxed);
  item.stack = entry.stack;
  item.born = entry.born;
  item.destroyed_stack = stack;
  item.destroyed_when = when;
  item.thread = entry.thread;
  item.destroyed_thread = thread;
  item.slot = slot;
  item.parents[0] = entry.parents[0];
  item.parents[1] = entry.parents[1];
  item.children = children;
  item.was_parent = (entry.children.load(std::memory_order_relaxed) & kEverParent) != 0;
  item.kind = entry.kind;
  item.origin = entry.origin;
  item.flags = entry.flags.load(std::memory_order_relaxed);
  item.extra = std::move(extra);
  InThisOrder();
  ++deaths_;
  InThisOrder();
  room_->handles[at] = entry.handle.load(std::memory_order_relaxed);
}

DeadRecord Ledger::DeadRing::RecordOf(uint32_t at) const {
  const Item& item = room_->items[at];
  DeadRecord dead;
  Record& record = dead.object;
  record.slot = item.slot;
  record.handle = room_->handles[at];
  record.numbers = item.numbers;
  record.serial = item.serial;
  record.stack = item.stack;
  record.born = item.born;
  record.thread = item.thread;
  record.kind = item.kind;
  record.origin = item.origin;
  record.flags = item.flags;
  record.life = Life::kDying;
  record.children = item.children;
  record.was_parent = item.was_parent;
  for (Slot parent : item.parents) {
    if (parent != 0) record.parents.push_back(parent);
  }
  if (item.extra != nullptr) {
    record.parents.insert(record.parents.end(), item.extra->more_parents.begin(), item.extra->more_parents.end());
    record.failure = item.extra->failure;
    dead.events = item.extra->events;
  }
  dead.destroyed_stack = item.destroyed_stack;
  dead.destroyed_when = item.destroyed_when;
  dead.destroyed_thread = item.destroyed_thread;
  dead.destroyed_verb = item.verb;
  dead.order = deaths_ - (deaths_ - 1 - at) % kSize;
  return dead;
}

bool Ledger::DeadRing::Get(const Key& key, DeadRecord* out) const {
  const Item* const item = Find(key);
  if (item == nullptr) return false;
  *out = RecordOf(static_cast<uint32_t>(item - room_->items));
  return true;
}

void Ledger::DeadRing::AppendAll(std::vector<DeadRecord>* all) const {
  for (uint32_t at = 0; at < std::min<uint64_t>(deaths_, kSize); ++at) all->push_back(RecordOf(at));
}

// Handles are heap addresses: the low bits are equal and the high ones nearly so.
uint64_t Ledger::Hash(uintptr_t handle) {
  uint64_t h = static_cast<uint64_t>(handle) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 32);
}

Ledger::Shard* Ledger::MapShards() {
  void* shards = mmap(nullptr, kShards * sizeof(Shard), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                      -1, 0);
  return shards == MAP_FAILED ? nullptr : static_cast<Shard*>(shards);
}

namespace {
std::atomic<uint32_t> ledgers{0};
}

Ledger::Ledger() : shards_(MapShards()), number_(ledgers.fetch_add(1) + 1) {
  for (uint32_t s = 0; shards_ != nullptr && s < kShards; ++s) new (&shards_[s]) Shard;
}

Ledger::~Ledger() {
  if (shards_ == nullptr) return;
  for (uint32_t s = 0; s < kShards; ++s) {
    for (uint32_t c = 0; c << kChunkBits < shards_[s].used; ++c) delete[] shards_[s].chunks[c].load();
    shards_[s].~Shard();
  }
  munmap(shards_, kShards * sizeof(Shard));
  for (std::atomic<Stripes*>& chunk : stripes_) delete[] chunk.load();
}

void Ledger::StartThread(PerThread* mine) const {
  *mine = PerThread();
  mine->ledger = number_;
}

// A thread that makes few objects takes its serials one by one, so that these are as people would count.
Serial Ledger::NextSerial() {
  PerThread& mine = Mine();
  const uint32_t round = round_.load(std::memory_order_relaxed);
  if (__builtin_expect(mine.next == mine.end || mine.round != round, false)) {
    constexpr uint32_t kSingles = 16, kLargest = 6;
    const uint32_t size = mine.batches < kSingles ? 1 : 1u << std::min(mine.batches - kSingles + 1, kLargest);
    ++mine.batches;
    mine.round = round_.load();
    mine.next = next_serial_.fetch_add(size);
    mine.end = mine.next + size;
  }
  return mine.next++;
}

// In this order: who took serials that the mark covers has also seen the round before.
Serial Ledger::Mark() {
  const Serial mark = next_serial_.load() - 1;
  round_.fetch_add(1);
  return mark;
}

// ---- the journal

static_assert(static_cast<uint32_t>(Life::kLive) == journal::kLive && static_cast<uint32_t>(Life::kDying) == journal::kDying &&
              static_cast<uint32_t>(Life::kZombie) == journal::kZombie && kClosed == +journal::kClosed &&
              kInherited == +journal::kInherited && kIgnored == +journal::kIgnored && kTold == +journal::kReported &&
              kRefused == +journal::kRefused && kDeviceLost == +journal::kDeviceLost &&
              static_cast<uint8_t>(Origin::kUnknown) == journal::kUnknown && kKindCount <= journal::kMaxKinds);

void Ledger::Publish(const Shard& shard, uint32_t index) const {
  char* const base = JournalBase();
  if (__builtin_expect(base == nullptr, true)) return;
  const Entry& entry = shard.At(index);
  const uint8_t flags = entry.flags.load(std::memory_order_relaxed);
  if ((flags & kInherited) != 0) return;  // it stands in the parent's
  journal::ObjectRow* const row = JournalObject(base, SlotOf(IndexOf(shard), index), true);
  if (row == nullptr) return;
  BeginRow(&row->state);
  row->serial = entry.serial.load(std::memory_order_relaxed);
  row->handle = entry.handle.load(std::memory_order_relaxed);
  row->numbers[0] = entry.numbers.a;
  row->numbers[1] = entry.numbers.b;
  row->numbers[2] = entry.numbers.c;
  row->stack = entry.stack;
  row->born = entry.born;
  row->thread = entry.thread;
  row->parents[0] = entry.parents[0];
  row->parents[1] = entry.parents[1];
  row->kind = static_cast<uint8_t>(entry.kind);
  row->origin = static_cast<uint8_t>(entry.origin);
  row->flags = flags;
  __atomic_store_n(&row->was_parent, (entry.children.load(std::memory_order_relaxed) & kEverParent) != 0, __ATOMIC_RELAXED);
  EndRow(&row->state, static_cast<uint32_t>(entry.life.load(std::memory_order_relaxed)));
}

void Ledger::PublishLife(const Shard& shard, uint32_t index) const {
  char* const base = JournalBase();
  if (__builtin_expect(base == nullptr, true)) return;
  const Entry& entry = shard.At(index);
  if ((entry.flags.load(std::memory_order_relaxed) & kInherited) != 0) return;
  journal::ObjectRow* const row = JournalObject(base, SlotOf(IndexOf(shard), index), false);
  if (row != nullptr) EndRow(&row->state, static_cast<uint32_t>(entry.life.load(std::memory_order_relaxed)));
}

void Ledger::PublishExtra(Shard& shard, uint32_t index) const {
  char* const base = JournalBase();
  if (__builtin_expect(base == nullptr, true)) return;
  const Entry& entry = shard.At(index);
  if ((entry.flags.load(std::memory_order_relaxed) & kInherited) != 0) return;
  auto it = shard.extra_rows.find(index);
  if (it == shard.extra_rows.end()) {
    const uint32_t place = JournalTakeExtra();
    if (place == 0) return;
    const Changes changes(&shard.changing, kExtraRows);
    it = shard.extra_rows.emplace(index, place).first;
  }
  auto* const row = JournalRow<journal::ExtraRow>(base, it->second);
  BeginRow(&row->state);
  row->slot = SlotOf(IndexOf(shard), index);
  row->serial = entry.serial.load(std::memory_order_relaxed);
  const auto failure = shard.failures.find(index);
  const Failure failed = failure == shard.failures.end() ? Failure() : failure->second;
  row->failed_result = failed.result;
  row->failed_verb = reinterpret_cast<uintptr_t>(failed.verb);
  row->failed_when = failed.when;
  row->failed_times = failed.times;
  const auto events = shard.events.find(index);
  row->taken = row->acked = row->async_taken = row->async_acked = 0;
  row->taker = 0;
  row->taker_stack = 0;
  if (events != shard.events.end()) {
    row->taken = events->second.taken;
    row->acked = events->second.acked;
    row->async_taken = events->second.async_taken;
    row->async_acked = events->second.async_acked;
    if (!events->second.takers.empty()) {
      row->taker = events->second.takers.front().thread;
      row->taker_stack = events->second.takers.front().stack;
    }
  }
  EndRow(&row->state, 1);
  if (failed.verb != nullptr) JournalVerb(failed.verb);
}

// ---- children

Stripes* Ledger::StripesOf(uint32_t word) const {
  const uint32_t number = word & kCountMask;
  return stripes_[number / kStripesInChunk].load(std::memory_order_acquire) + number % kStripesInChunk;
}

// Two threads have met at an entry's count: from now on each counts in a line of its own. False: memory is out.
bool Ledger::Spread(Entry& entry, uint32_t* word) {
  const uint32_t number = next_stripes_.load(std::memory_order_relaxed) < kMaxStripeChunks * kStripesInChunk
                              ? next_stripes_.fetch_add(1, std::memory_order_relaxed)
                              : kMaxStripeChunks * kStripesInChunk;
  if (number >= kMaxStripeChunks * kStripesInChunk) return false;
  std::atomic<Stripes*>& chunk = stripes_[number / kStripesInChunk];
  Stripes* have = chunk.load(std::memory_order_acquire);
  if (have == nullptr) {
    Stripes* const fresh = new (std::nothrow) Stripes[kStripesInChunk];
    if (fresh == nullptr) return false;
    if (!chunk.compare_exchange_strong(have, fresh, std::memory_order_acq_rel)) delete[] fresh;
  }
  Stripes* const stripes = StripesOf(number);
  while ((*word & kStriped) == 0) {
    stripes->of[0].up.store(*word & kCountMask);
    if (entry.children.compare_exchange_weak(*word, (*word & kEverParent) | kStriped | number)) return true;
  }
  stripes->of[0].up.store(0);  // somebody else did it; these are lost
  return true;
}

void Ledger::AddChild(Entry& entry) {
  uint32_t word = entry.children.load(std::memory_order_relaxed);
  bool may_spread = true;
  while ((word & kStriped) == 0) {
    if (__builtin_expect(entry.children.compare_exchange_strong(word, word + 1), true)) return;
    if (may_spread && (word & kStriped) == 0) may_spread = Spread(entry, &word);
    word = entry.children.load();
  }
  StripesOf(word)->Mine().up.fetch_add(1);
}

void Ledger::RemoveChild(Entry& entry) {
  uint32_t word = entry.children.load(std::memory_order_relaxed);
  while ((word & kStriped) == 0) {
    if (__builtin_expect(entry.children.compare_exchange_weak(word, word - 1), true)) return;
  }
  StripesOf(word)->Mine().down.fetch_add(1);
}

uint32_t Ledger::ChildCount(const Entry& entry) const {
  const uint32_t word = entry.children.load();
  if (__builtin_expect((word & kStriped) == 0, true)) return word & kCountMask;
  return static_cast<uint32_t>(StripesOf(word)->Sum());
}

uint32_t Ledger::Allocate(Shard& shard) {
  if (!shard.free.empty()) {
    const uint32_t index = shard.free.back();
    shard.free.pop_back();
    return index;
  }
  const uint32_t index = shard.used;
  if (index >> kChunkBits >= kMaxChunks) return 0;
  std::atomic<Entry*>& chunk = shard.chunks[index >> kChunkBits];
  if (chunk.load(std::memory_order_relaxed) == nullptr) {
    Entry* fresh = new (std::nothrow) Entry[kChunk];
    if (fresh == nullptr) return 0;
    chunk.store(fresh, std::memory_order_release);
  }
  ++shard.used;
  return index;
}

void Ledger::NoLongerLive(Shard& shard, uint32_t index) {
  uint32_t* const cell = FindLive(shard, KeyOf(shard.At(index)));
  if (cell != nullptr && HandleIndex::IndexIn(*cell) == index) shard.live.Erase(cell);
}

Record Ledger::Copy(const Shard& shard, uint32_t index) const {
  const Entry& entry = shard.At(index);
  Record record;
  record.slot = SlotOf(IndexOf(shard), index);
  record.handle = entry.handle;
  record.numbers = entry.numbers;
  record.serial = entry.serial;
  record.stack = entry.stack;
  record.born = entry.born;
  record.thread = entry.thread;
  record.kind = entry.kind;
  record.origin = entry.origin;
  record.flags = entry.flags;
  record.life = entry.life.load(std::memory_order_relaxed);
  record.children = ChildCount(entry);
  record.was_parent = (entry.children.load(std::memory_order_relaxed) & kEverParent) != 0;
  for (Slot parent : entry.parents) {
    if (parent != 0) record.parents.push_back(parent);
  }
  if (auto more = shard.more_parents.find(index); more != shard.more_parents.end()) {
    record.parents.insert(record.parents.end(), more->second.begin(), more->second.end());
  }
  if (auto failure = shard.failures.find(index); failure != shard.failures.end()) record.failure = failure->second;
  return record;
}

absl::InlinedVector<Slot, 4> Ledger::Release(Shard& shard, uint32_t index) {
  Entry& entry = shard.At(index);
  absl::InlinedVector<Slot, 4> parents;
  for (Slot& parent : entry.parents) {
    if (parent != 0) parents.push_back(parent);
    parent = 0;
  }
  if (!shard.more_parents.empty()) {
    const Changes changes(&shard.changing, kMoreParents);
    if (auto more = shard.more_parents.find(index); more != shard.more_parents.end()) {
      parents.insert(parents.end(), more->second.begin(), more->second.end());
      shard.more_parents.erase(more);
    }
  }
  if (!shard.failures.empty()) {
    const Changes changes(&shard.changing, kFailures);
    shard.failures.erase(index);
  }
  if (!shard.events.empty()) {
    const Changes changes(&shard.changing, kEventCounts);
    shard.events.erase(index);
  }
  if (!shard.extra_rows.empty()) {
    if (auto row = shard.extra_rows.find(index); row != shard.extra_rows.end()) {
      const Changes changes(&shard.changing, kExtraRows);
      JournalFreeExtra(row->second);
      shard.extra_rows.erase(row);
    }
  }
  SetLife(shard, index, Life::kFree);
  entry.flags.store(0, std::memory_order_relaxed);
  shard.free.push_back(index);
  return parents;
}

Found Ledger::FoundAt(const Shard& shard, uint32_t index, Standing standing) const {
  return {standing, SlotOf(IndexOf(shard), index), shard.At(index).flags.load(std::memory_order_relaxed)};
}

Found Ledger::Look(const Shard& shard, const Key& key) const {
  if (const uint32_t* cell = FindLive(shard, key)) return FoundAt(shard, HandleIndex::IndexIn(*cell), Standing::kLive);
  for (const auto [index, thread] : shard.dying) {
    const Entry& entry = shard.At(index);
    if (entry.handle.load(std::memory_order_relaxed) == key.handle && FamilyOf(entry.kind) == key.family) {
      return FoundAt(shard, index, Standing::kDying);
    }
  }
  return shard.dead.Has(key) ? Found{Standing::kDead, 0, 0} : Found();
}

Found Ledger::Find(Kind kind, uintptr_t handle) const {
  Shard& shard = ShardOf(handle);
  MutexLock lock(&shard.mutex);
  return Look(shard, Key{FamilyOf(kind), handle});
}

// Where this thread found a handle last is where it looks first. What lies there is the same object if it has the serial; that
// it lives is asked once its child is counted: a destroy says that the entry is dying before it asks for children, so that
// one of the two sees the other.
Found Ledger::Pin(Kind kind, uintptr_t handle) {
  const Key key{FamilyOf(kind), handle};
  const uint64_t hash = Hash(key);
  Recent& recent = Mine().recent[hash >> 62];
  if (recent.hash == hash && recent.slot != 0) {
    Entry& entry = EntryAt(recent.slot);
    auto is_still_it = [&] {
      return entry.life.load() == Life::kLive && entry.serial.load(std::memory_order_acquire) == recent.serial &&
             entry.handle.load(std::memory_order_relaxed) == handle;
    };
    if (is_still_it()) {
      AddChild(entry);
      if (is_still_it()) return {Standing::kLive, recent.slot, entry.flags.load(std::memory_order_relaxed)};
      Unpin(recent.slot);
    }
  }
  Shard& shard = ShardOf(handle);
  MutexLock lock(&shard.mutex);
  const Found found = Look(shard, key);
  if (found.slot != 0) {
    Entry& entry = shard.At(found.slot >> kShardBits);
    AddChild(entry);
    if (found.standing == Standing::kLive) {
      recent = {hash, found.slot, entry.serial.load(std::memory_order_relaxed)};
    }
  }
  return found;
}

void Ledger::Unpin(Slot slot) {
  Entry& entry = EntryAt(slot);
  RemoveChild(entry);
  if (__builtin_expect(entry.life.load() != Life::kZombie, true)) return;
  absl::InlinedVector<Slot, 4> parents;
  {
    Shard& shard = ShardAt(slot);
    MutexLock lock(&shard.mutex);
    // Another thread may have freed it, or even have pinned a new object in the same slot, since.
    if (entry.life.load() == Life::kZombie && ChildCount(entry) == 0) parents = Release(shard, slot >> kShardBits);
  }
  UnpinAll(parents);
}

Slot Ledger::Create(const Birth& birth) {
  Shard& shard = ShardOf(birth.handle);
  const Serial serial = NextSerial();
  const uint32_t born = NowStamp();
  absl::InlinedVector<Slot, 4> dropped;
  // While the pins are still ours: once the new entry is known, another thread may destroy it, and its parents.
  for (Slot parent : birth.parents) {
    std::atomic<uint32_t>& children = EntryAt(parent).children;
    if ((children.load(std::memory_order_relaxed) & kEverParent) != 0) continue;
    children.fetch_or(kEverParent);
    char* const base = JournalBase();
    if (base == nullptr) continue;
    if (journal::ObjectRow* row = JournalObject(base, parent, false)) __atomic_store_n(&row->was_parent, 1, __ATOMIC_RELAXED);
  }
  Slot slot = 0;
  try {
    slot = Add(shard, birth, serial, born, &dropped);
  } catch (const std::bad_alloc&) {
  }
  if (slot == 0) {
    for (Slot parent : birth.parents) Unpin(parent);
  }
  UnpinAll(dropped);
  return slot;
}

// Whatever may want memory comes before the first change.
Slot Ledger::Add(Shard& shard, const Birth& birth, Serial serial, uint32_t born, absl::InlinedVector<Slot, 4>* dropped) {
  MutexLock lock(&shard.mutex);
  Reserve(shard);
  absl::InlinedVector<Slot, 4> more;
  if (birth.parents.size() > 2) more.assign(birth.parents.begin() + 2, birth.parents.end());
  const uint32_t index = Allocate(shard);
  if (index == 0) return 0;
  Entry& entry = shard.At(index);
  if (!more.empty()) {
    const Changes changes(&shard.changing, kMoreParents);
    try {
      shard.more_parents[index] = std::move(more);
    } catch (const std::bad_alloc&) {
      shard.free.push_back(index);  // it was there before, or has room: Allocate took one from it or made a new one
      return 0;
    }
  }
  entry.handle.store(birth.handle, std::memory_order_relaxed);
  entry.numbers = birth.numbers;
  entry.serial.store(serial, std::memory_order_relaxed);
  entry.stack = birth.stack;
  entry.born = born;
  entry.thread = birth.thread;
  entry.kind = birth.kind;
  entry.origin = birth.origin;
  entry.flags.store(birth.flags, std::memory_order_relaxed);
  // Not stored: a thread that takes the slot for its old object may count here for a moment (Pin).
  if ((entry.children.load(std::memory_order_relaxed) & kEverParent) != 0) entry.children.fetch_and(~kEverParent);
  for (size_t n = 0; n < 2 && n < birth.parents.size(); ++n) entry.parents[n] = birth.parents[n];
  const Key key{FamilyOf(birth.kind), birth.handle};
  uint32_t* const known = FindLive(shard, key);
  // Two that live never have one handle.
  if (known != nullptr) SetLife(shard, HandleIndex::IndexIn(*known), Life::kZombie);
  entry.life.store(Life::kLive, std::memory_order_release);
  Publish(shard, index);
  if (known == nullptr) {
    shard.live.Insert(Hash(key), index);
  } else {
    const uint32_t old = HandleIndex::IndexIn(*known);
    HandleIndex::Replace(known, index);
    if (ChildCount(shard.At(old)) == 0) *dropped = Release(shard, old);
  }
  return SlotOf(IndexOf(shard), index);
}

Found Ledger::BeginDestroy(Kind kind, uintptr_t handle, int32_t thread) {
  Shard& shard = ShardOf(handle);
  const Key key{FamilyOf(kind), handle};
  MutexLock lock(&shard.mutex);
  uint32_t* const live = FindLive(shard, key);
  if (live == nullptr) return Look(shard, key);
  const uint32_t index = HandleIndex::IndexIn(*live);
  const Found found = FoundAt(shard, index, Standing::kLive);
  if ((found.flags & kClosed) != 0) return found;
  {
    const Changes changes(&shard.changing, kDyingList);
    shard.dying.push_back({index, thread});
  }
  shard.live.Erase(live);
  SetLife(shard, index, Life::kDying);
  return found;
}

uint32_t Ledger::EndDestroy(Slot slot, bool destroyed, const char* verb, uint32_t stack, int32_t thread) {
  Shard& shard = ShardAt(slot);
  const uint32_t index = slot >> kShardBits;
  const uint32_t now = destroyed ? NowStamp() : 0;
  absl::InlinedVector<Slot, 4> parents;
  uint32_t children = 0;
  {
    MutexLock lock(&shard.mutex);
    Entry& entry = shard.At(index);
    if (!destroyed) Reserve(shard);
    // Before it leaves the list, so that it is never one that nobody destroys.
    SetLife(shard, index, destroyed ? Life::kZombie : Life::kLive);
    {
      const Changes changes(&shard.changing, kDyingList);
      shard.dying.erase(std::find_if(shard.dying.begin(), shard.dying.end(), [index](const Dying& one) { return one.index == index; }));
    }
    if (!destroyed) {
      // While the destroy was refused nobody can have been given the address; an entry there is a stale one.
      const Key key = KeyOf(entry);
      if (FindLive(shard, key) == nullptr) shard.live.Insert(Hash(key), index);
      return 0;
    }
    std::unique_ptr<DeadRing::Extra> extra;
    if (!shard.more_parents.empty() || !shard.failures.empty() || !shard.events.empty()) {
      auto more = shard.more_parents.find(index);
      auto failure = shard.failures.find(index);
      auto events = shard.events.find(index);
      if (more != shard.more_parents.end() || failure != shard.failures.end() || events != shard.events.end()) {
        extra.reset(new (std::nothrow) DeadRing::Extra);
      }
      if (extra != nullptr && more != shard.more_parents.end()) extra->more_parents = more->second;
      if (extra != nullptr && failure != shard.failures.end()) extra->failure = failure->second;
      if (extra != nullptr && events != shard.events.end()) extra->events = events->second;
    }
    children = ChildCount(entry);
    shard.dead.Add(entry, verb, stack, now, thread, slot, children, std::move(extra));
    if (children == 0) parents = Release(shard, index);
  }
  UnpinAll(parents);
  return children;
}

std::vector<Slot> Ledger::DyingBy(int32_t thread) const {
  std::vector<Slot> slots;
  for (uint32_t s = 0; s < kShards; ++s) {
    const Shard& shard = shards_[s];
    MutexLock lock(&shard.mutex);
    for (const Dying& one : shard.dying) {
      if (one.thread == thread) slots.push_back(SlotOf(s, one.index));
    }
  }
  return slots;
}

void Ledger::Forget(Slot slot) {
  Shard& shard = ShardAt(slot);
  const uint32_t index = slot >> kShardBits;
  absl::InlinedVector<Slot, 4> parents;
  {
    MutexLock lock(&shard.mutex);
    Entry& entry = shard.At(index);
    if (entry.life.load() != Life::kLive) return;
    NoLongerLive(shard, index);
    SetLife(shard, index, Life::kZombie);
    if (ChildCount(entry) == 0) parents = Release(shard, index);
  }
  UnpinAll(parents);
}

Record Ledger::Get(Slot slot) const {
  if (slot == 0) return Record();  // there was no memory to keep it
  const Shard& shard = ShardAt(slot);
  MutexLock lock(&shard.mutex);
  return Copy(shard, slot >> kShardBits);
}

// visit(slot, entry, life) for each entry that is not free, under its shard's lock.
template <class Visit>
void Ledger::ForEachEntry(Visit visit) const {
  for (uint32_t s = 0; s < kShards; ++s) {
    const Shard& shard = shards_[s];
    MutexLock lock(&shard.mutex);
    for (uint32_t index = 1; index < shard.used; ++index) {
      const Entry& entry = shard.At(index);
      const Life life = entry.life.load(std::memory_order_relaxed);
      if (life != Life::kFree) visit(SlotOf(s, index), entry, life);
    }
  }
}

// A million records are not sorted by moving them: their keys are, and each record is copied once.
std::vector<Record> Ledger::All(size_t most, uint8_t without) const {
  struct Place {
    uint64_t age;  // as Record::OlderThan
    Slot slot;
  };
  auto age_of = [](const Entry& entry) {
    return static_cast<uint64_t>(entry.born) << 32 | entry.serial.load(std::memory_order_relaxed);
  };
  auto older = [](const Place& a, const Place& b) { return a.age < b.age; };
  std::vector<Place> places;
  ForEachEntry([&](Slot slot, const Entry& entry, Life) {
    if ((entry.flags.load(std::memory_order_relaxed) & without) == 0) places.push_back({age_of(entry), slot});
  });
  if (places.size() > most) {
    const auto first = places.end() - static_cast<ptrdiff_t>(most);
    std::nth_element(places.begin(), first, places.end(), older);
    places.erase(places.begin(), first);
  }
  std::sort(places.begin(), places.end(), older);
  std::vector<Record> all;
  all.reserve(places.size());
  for (const Place& place : places) {
    const Shard& shard = ShardAt(place.slot);
    MutexLock lock(&shard.mutex);
    const Entry& entry = shard.At(place.slot >> kShardBits);
    // It may have gone since, and another be in its place.
    if (entry.life.load(std::memory_order_relaxed) != Life::kFree && age_of(entry) == place.age) {
      all.push_back(Copy(shard, place.slot >> kShardBits));
    }
  }
  return all;
}

std::vector<Record> Ledger::ChildrenOf(Slot slot) const {
  std::vector<Record> children = All();
  children.erase(std::remove_if(children.begin(), children.end(),
                                [slot](const Record& record) {
                                  return record.life == Life::kZombie ||
                                         std::find(record.parents.begin(), record.parents.end(), slot) ==
                                             record.parents.end();
                                }),
                 children.end());
  return children;
}

std::vector<Record> Ledger::Under(Slot context) const {
  std::vector<Record> all = All();
  // Parents are few: for each it is found once whether it leads to the context.
  absl::flat_hash_map<Slot, const Record*> parents;
  for (const Record& record : all) {
    for (Slot parent : record.parents) parents[parent] = nullptr;
  }
  for (const Record& record : all) {
    if (auto it = parents.find(record.slot); it != parents.end()) it->second = &record;
  }
  absl::flat_hash_map<Slot, bool> leads;
  auto is_under = [&](const Record& record) {
    const Record* at = &record;
    for (int depth = 0; at != nullptr && depth < 16; ++depth) {
      const Record* up = nullptr;
      for (Slot parent : at->parents) {
        if (parent == context) return true;
        auto it = parents.find(parent);
        if (up == nullptr && it != parents.end()) up = it->second;
      }
      at = up;
    }
    return false;
  };
  std::vector<Record> under;
  for (Record& record : all) {
    if (record.slot == context || record.life == Life::kZombie) continue;
    bool reached = false;
    if (record.parents.size() == 1) {
      const auto [it, fresh] = leads.try_emplace(record.parents[0], false);
      if (fresh) it->second = is_under(record);
      reached = it->second;
    } else {
      reached = is_under(record);
    }
    if (reached) under.push_back(record);
  }
  return under;
}

Slot Ledger::ContextOf(Slot slot) const {
  for (int depth = 0; slot != 0 && depth < 16; ++depth) {
    const Shard& shard = ShardAt(slot);
    MutexLock lock(&shard.mutex);
    const Entry& entry = shard.At(slot >> kShardBits);
    if (entry.kind == Kind::kContext) return slot;
    slot = entry.parents[0];
  }
  return 0;
}

bool Ledger::FindDead(Kind kind, uintptr_t handle, DeadRecord* out) const {
  const Shard& shard = ShardOf(handle);
  MutexLock lock(&shard.mutex);
  return shard.dead.Get(Key{FamilyOf(kind), handle}, out);
}

std::vector<DeadRecord> Ledger::Dead() const {
  std::vector<DeadRecord> all;
  for (uint32_t s = 0; s < kShards; ++s) {
    const Shard& shard = shards_[s];
    MutexLock lock(&shard.mutex);
    shard.dead.AppendAll(&all);
  }
  std::sort(all.begin(), all.end(),
            [](const DeadRecord& a, const DeadRecord& b) { return a.object.OlderThan(b.object); });
  return all;
}

void Ledger::SetFlags(Slot slot, uint8_t set, uint8_t clear) {
  Shard& shard = ShardAt(slot);
  MutexLock lock(&shard.mutex);
  Entry& entry = shard.At(slot >> kShardBits);
  const uint8_t before = entry.flags.load(std::memory_order_relaxed);
  entry.flags.store(static_cast<uint8_t>((before & ~clear) | set), std::memory_order_relaxed);
  Publish(shard, slot >> kShardBits);
}

void Ledger::SetFlagsUnder(Slot context, uint8_t set) {
  struct Place {
    Slot slot, parents[2];
    Serial serial;
  };
  std::vector<Place> places;
  ForEachEntry([&](Slot slot, const Entry& entry, Life life) {
    if (life == Life::kZombie) return;
    places.push_back({slot, {entry.parents[0], entry.parents[1]}, entry.serial.load(std::memory_order_relaxed)});
  });
  // Parents are few: for each it is found once whether it leads to the context.
  absl::flat_hash_map<Slot, bool> known;
  auto leads = [&](Slot parent) {
    if (parent == 0 || parent == context) return parent == context;
    if (auto it = known.find(parent); it != known.end()) return it->second;
    bool reached = false;
    Slot at = parent;
    for (int depth = 0; at != 0 && !reached && depth < 16; ++depth) {
      const Record record = Get(at);
      reached = std::find(record.parents.begin(), record.parents.end(), context) != record.parents.end();
      at = record.parents.empty() ? 0 : record.parents[0];
    }
    known[parent] = reached;
    return reached;
  };
  for (const Place& place : places) {
    if (place.slot == context || (!leads(place.parents[0]) && !leads(place.parents[1]))) continue;
    Shard& shard = ShardAt(place.slot);
    MutexLock lock(&shard.mutex);
    Entry& entry = shard.At(place.slot >> kShardBits);
    if (entry.serial.load(std::memory_order_relaxed) != place.serial) continue;  // another by now
    entry.flags.store(static_cast<uint8_t>(entry.flags.load(std::memory_order_relaxed) | set), std::memory_order_relaxed);
    Publish(shard, place.slot >> kShardBits);
  }
}

void Ledger::SetNumbers(Slot slot, const Numbers& numbers) {
  Shard& shard = ShardAt(slot);
  MutexLock lock(&shard.mutex);
  shard.At(slot >> kShardBits).numbers = numbers;
  Publish(shard, slot >> kShardBits);
}

void Ledger::SetFailure(Slot slot, const char* verb, int result, uint32_t stack) {
  const uint32_t now = NowStamp();
  Shard& shard = ShardAt(slot);
  MutexLock lock(&shard.mutex);
  const Changes changes(&shard.changing, kFailures);
  Failure& failure = shard.failures[slot >> kShardBits];
  failure = Failure{verb, result, stack, now, failure.times + 1};
  PublishExtra(shard, slot >> kShardBits);
}

void Ledger::Reparent(Slot slot, Slot from, Slot to) {
  {
    Shard& shard = ShardAt(slot);
    const uint32_t index = slot >> kShardBits;
    MutexLock lock(&shard.mutex);
    Entry& entry = shard.At(index);
    auto replace = [&](Slot& parent) {
      if (parent != from) return false;
      parent = to;
      return true;
    };
    bool done = replace(entry.parents[0]) || replace(entry.parents[1]);
    if (!done) {
      const Changes changes(&shard.changing, kMoreParents);
      auto& more = shard.more_parents[index];
      if (from == 0) {
        more.push_back(to);
        done = true;
      }
      for (size_t i = 0; i < more.size() && !done; ++i) {
        done = replace(more[i]);
        if (done && to == 0) more.erase(more.begin() + static_cast<ptrdiff_t>(i));
      }
      if (more.empty()) shard.more_parents.erase(index);
    }
    if (!done) from = 0;  // it never was a parent: nothing to give back
    Publish(shard, index);
  }
  if (from != 0) Unpin(from);
}

void Ledger::Taken(Slot slot, bool async, const Taker& taker) {
  Shard& shard = ShardAt(slot);
  MutexLock lock(&shard.mutex);
  const Changes changes(&shard.changing, kEventCounts);
  EventCount& count = shard.events[slot >> kShardBits];
  ++(async ? count.async_taken : count.taken);
  if (count.takers.size() >= EventCount::kMaxTakers) count.takers.erase(count.takers.begin() + 1);
  count.takers.push_back(taker);
  count.takers.back().async = async;
  PublishExtra(shard, slot >> kShardBits);
}

void Ledger::Acked(Slot slot, bool async, uint64_t number, int32_t thread) {
  Shard& shard = ShardAt(slot);
  MutexLock lock(&shard.mutex);
  const Changes changes(&shard.changing, kEventCounts);
  EventCount& count = shard.events[slot >> kShardBits];
  (async ? count.async_acked : count.acked) += number;
  std::vector<Taker>& takers = count.takers;
  uint64_t left = number;
  for (bool own : {true, false}) {
    for (size_t i = 0; i < takers.size() && left > 0;) {
      if (takers[i].async != async || (takers[i].thread == thread) != own) {
        ++i;
        continue;
      }
      takers.erase(takers.begin() + static_cast<ptrdiff_t>(i));
      --left;
    }
  }
  PublishExtra(shard, slot >> kShardBits);
}

EventCount Ledger::EventsOf(Slot slot) const {
  const Shard& shard = ShardAt(slot);
  MutexLock lock(&shard.mutex);
  auto it = shard.events.find(slot >> kShardBits);
  EventCount count = it == shard.events.end() ? EventCount() : it->second;
  count.unknown = shard.At(slot >> kShardBits).serial.load(std::memory_order_relaxed) <= counted_after_.load(std::memory_order_relaxed);
  return count;
}

void Ledger::ForkPrepare() {
  for (uint32_t s = 0; s < kShards; ++s) shards_[s].mutex.Freeze();
}

void Ledger::ForkParent() {
  for (uint32_t s = 0; s < kShards; ++s) shards_[s].mutex.Thaw();
}

// Entries are changed by single stores, so they are whole; what is derived from them is made anew. Of the rest, what was
// being changed is forgotten: failed calls, events and third parents of this shard (after a fork all of these, and the recent
// dead, which are whole otherwise). Unknown is not wrong.
void Ledger::Repair(Shard& shard, uint8_t torn) {
  new (&shard.live) HandleIndex;
  new (&shard.free) std::vector<uint32_t>;
  std::vector<Dying> dying;
  if ((torn & kDyingList) == 0) dying.swap(shard.dying);
  new (&shard.dying) std::vector<Dying>;
  if ((torn & kMoreParents) != 0) new (&shard.more_parents) decltype(shard.more_parents);
  if ((torn & kFailures) != 0) new (&shard.failures) decltype(shard.failures);
  if ((torn & kEventCounts) != 0) new (&shard.events) decltype(shard.events);
  if ((torn & kExtraRows) != 0) new (&shard.extra_rows) decltype(shard.extra_rows);
  if (torn == kAllParts) new (&shard.dead) DeadRing;
  shard.changing = 0;
  for (uint32_t index = 1; index < shard.used; ++index) {
    Entry& entry = shard.At(index);
    switch (entry.life.load()) {
      case Life::kFree:
        shard.free.push_back(index);
        break;
      case Life::kLive:
        Reserve(shard);
        shard.live.Insert(Hash(KeyOf(entry)), index);
        break;
      case Life::kDying: {
        const auto known = std::find_if(dying.begin(), dying.end(), [index](const Dying& one) { return one.index == index; });
        shard.dying.push_back({index, known == dying.end() ? 0 : known->thread});
        break;
      }
      case Life::kZombie:
        break;
    }
  }
}

void Ledger::ForkChild() {
  for (uint32_t s = 0; s < kShards; ++s) {
    Shard& shard = shards_[s];
    if (shard.mutex.Renew()) Repair(shard, kAllParts);
    shard.extra_rows.clear();  // they are the parent's
    for (uint32_t index = 1; index < shard.used; ++index) {
      Entry& entry = shard.At(index);
      if (entry.life.load() != Life::kFree) entry.flags.fetch_or(kInherited, std::memory_order_relaxed);
    }
  }
}

void Ledger::LeftBy(uint32_t thread) {
  counted_after_.store(Mark());
  for (uint32_t s = 0; s < kShards; ++s) {
    Shard& shard = shards_[s];
    if (!shard.mutex.TakeFrom(thread)) continue;
    Repair(shard, shard.changing);
    shard.mutex.Unlock();
  }
  if (thread == ThisThreadId()) StartThread(&per_thread_);
}

}  // namespace rdmacheck
