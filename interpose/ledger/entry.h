// One object as the ledger stores it, and the copy of it that leaves the ledger.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "interpose/ledger/kind.h"

namespace rdmacheck {

// Names an entry for as long as it is pinned: low bits the shard, the rest an index. 0 is none.
using Slot = uint32_t;
// Counts objects from 1, and is never used again: it tells the objects apart that one slot had. Threads that make many take
// several at once, so that those of two threads say nothing of which was first; Record::born does.
using Serial = uint32_t;

enum class Life : uint8_t {
  kFree,
  kLive,
  kDying,   // its destroy has been forwarded and has not returned
  kZombie,  // gone, but children still name it as parent
};

enum class Origin : uint8_t {
  kCreated,
  kImported,  // a second handle to an object of another process or context
  kOpened,    // a second handle to an object of this process (ibv_open_qp)
  kUnknown,   // first seen as an argument: born where we do not look
};
inline const char* NameOf(Origin origin) {
  constexpr const char* kNames[] = {"created", "imported", "opened", "unknown"};
  return kNames[static_cast<int>(origin)];
}

enum EntryFlag : uint8_t {
  kClosed = 1,      // its context was closed while it lived
  kInherited = 2,   // made by the parent of this (forked) process
  kIgnored = 4,     // rdmacheck_ignore(), or made between rdmacheck_disable() and _enable()
  kTold = 8,        // already in a report; not to be told again at exit
  kRefused = 16,    // a destroy was refused and none has succeeded since
  kDeviceLost = 32, // it returned EIO, or its device said DEVICE_FATAL
};

// The numbers people know an object by. What a, b and c hold depends on the kind: number_names.h.
struct Numbers {
  uint64_t a = 0, b = 0, c = 0;
};

struct alignas(64) Entry {
  std::atomic<uintptr_t> handle{0};
  Numbers numbers;
  std::atomic<Serial> serial{0};
  uint32_t stack = 0;
  uint32_t born = 0;              // hundredths of a second since the checker started
  int32_t thread = 0;             // kernel thread id of the creator
  Slot parents[2] = {0, 0};       // further ones in Shard::more_parents
  // How many entries (and creates under way) name this one as parent, or which of the ledger's stripes count them; with
  // two flags (ledger.h).
  std::atomic<uint32_t> children{0};
  Kind kind = Kind::kNone;
  std::atomic<Life> life{Life::kFree};
  Origin origin = Origin::kCreated;
  std::atomic<uint8_t> flags{0};
};
static_assert(sizeof(Entry) == 64, "one cache line an object: a million QPs must not cost a gigabyte");

enum class Standing : uint8_t { kUnknown, kLive, kDying, kDead };

// What the ledger knows of a handle; slot and flags only for kLive and kDying.
struct Found {
  Standing standing = Standing::kUnknown;
  Slot slot = 0;
  uint8_t flags = 0;
};

// The last call that failed on an object.
struct Failure {
  const char* verb = nullptr;  // a verb's static name
  int result = 0;              // an errno value
  uint32_t stack = 0;
  uint32_t when = 0;           // as Entry::born
  uint32_t times = 0;
};

// A copy of an entry, safe to keep.
struct Record {
  Slot slot = 0;
  uintptr_t handle = 0;
  Numbers numbers;
  Serial serial = 0;
  uint32_t stack = 0;
  uint32_t born = 0;
  int32_t thread = 0;
  Kind kind = Kind::kNone;
  Origin origin = Origin::kCreated;
  uint8_t flags = 0;
  Life life = Life::kFree;
  uint32_t children = 0;
  bool was_parent = false;  // something was once made from it
  absl::InlinedVector<Slot, 4> parents;
  Failure failure;

  bool Has(EntryFlag flag) const { return (flags & flag) != 0; }
  // Made before that one, as far as the clock can tell.
  bool OlderThan(const Record& other) const { return born != other.born ? born < other.born : serial < other.serial; }
};

// One verbs event taken and who took it; kept while it is unacked.
struct Taker {
  int32_t thread = 0;
  uint32_t stack = 0;
  uint32_t when = 0;
  bool async = false;
};

struct EventCount {
  uint64_t taken = 0, acked = 0;
  uint64_t async_taken = 0, async_acked = 0;
  std::vector<Taker> takers;  // of the events not yet acked, oldest first; at most kMaxTakers
  static constexpr size_t kMaxTakers = 16;
  bool unknown = false;  // some that were taken or acked are not counted
};

// What is remembered of an object that went.
struct DeadRecord {
  Record object;
  uint32_t destroyed_stack = 0;
  uint32_t destroyed_when = 0;
  int32_t destroyed_thread = 0;
  const char* destroyed_verb = nullptr;
  uint64_t order = 0;   // of the deaths at one address: the later the greater
  EventCount events;    // as they stood at the destroy
};

}  // namespace rdmacheck
