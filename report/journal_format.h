// The file of a journal (docs/journal.md): what interpose/base/journal.h writes into a shared mapping, and
// reader/journal_reader.h reads after the process has ended, however that was.
//
// The file is a row of segments. The first holds the header and the table of the others, which are taken in their order:
// what lies behind Header::segments is a hole. Each segment is an array of rows of one kind, or of records one behind the
// other.
//
// A row begins with a state. Its writer says kWriting, writes the rest, then says what it is: a row that was left in
// kWriting is torn. A record counts when the bytes used of its segment have been raised, so none can be torn.
#pragma once

#include <atomic>
#include <cstdint>

namespace rdmacheck::journal {

inline constexpr char kMagic[16] = "rdmacheck-jrnl\n";
// Of what stands in this file; another version is not read.
inline constexpr uint32_t kFormat = 1;
inline constexpr uint32_t kSegmentBytes = 64 * 1024;
inline constexpr uint32_t kMaxSegments = 4096;
inline constexpr uint64_t kLargest = uint64_t{kSegmentBytes} * kMaxSegments;

enum class SegmentKind : uint32_t { kNone, kObjects, kThreads, kExtras, kRecords };

struct Segment {
  std::atomic<SegmentKind> kind;
  std::atomic<uint32_t> number;  // objects: slot of the first row / rows in a segment; records: bytes used
};

enum HeaderFlag : uint32_t {
  kStrict = 1,       // strict=1: what is left open is an error
  kNoExitCheck = 2,  // check_at_exit=0
  kDisassoc = 4,     // RDMAV_ALLOW_DISASSOC_DESTROY is in effect
};

struct Header {
  char magic[16];           // written last
  uint32_t format;
  uint32_t layout;          // kLayout
  char version[32];         // of rdmacheck
  int32_t pid, ppid;
  uint64_t started_monotonic, started_epoch;  // nanoseconds
  std::atomic<uint32_t> flags;
  std::atomic<uint32_t> segments;  // in use, with this one
  std::atomic<uint64_t> not_kept;  // objects for which there was no room
  std::atomic<uint32_t> ended;     // the process ended with a report of its own
  uint32_t own_module;             // whose frames are not shown; 0: none
};
inline constexpr uint32_t kTableOffset = 4096;  // of the table of segments
static_assert(sizeof(Header) <= kTableOffset && kTableOffset + kMaxSegments * sizeof(Segment) <= kSegmentBytes);

// In place of the state of a row.
inline constexpr uint32_t kWriting = 0xffffffff, kNothing = 0;

// States of an object: those of ledger/entry.h.
enum ObjectState : uint32_t { kLive = 1, kDying = 2, kZombie = 3 };
enum ObjectFlag : uint8_t { kClosed = 1, kInherited = 2, kIgnored = 4, kReported = 8, kRefused = 16, kDeviceLost = 32 };
enum ObjectOrigin : uint8_t { kCreated, kImported, kOpened, kUnknown };

// The row of a slot has the slot's place, over all segments of its kind.
struct ObjectRow {
  std::atomic<uint32_t> state;
  uint32_t serial;
  uint64_t handle;
  uint64_t numbers[3];
  uint32_t stack;
  uint32_t born;  // hundredths of a second since the start
  int32_t thread;
  uint32_t parents[2];
  uint8_t kind, origin, flags, was_parent;
};
static_assert(sizeof(ObjectRow) == 64);

// What few objects have.
struct ExtraRow {
  std::atomic<uint32_t> state;  // 1: in use
  uint32_t slot, serial;
  int32_t failed_result;
  uint64_t failed_verb;  // key of a kVerb record; 0: no call failed
  uint32_t failed_when, failed_times;
  uint64_t taken, acked, async_taken, async_acked;
  int32_t taker;  // the thread that took the oldest event that is not acknowledged
  uint32_t taker_stack;
};
static_assert(sizeof(ExtraRow) == 72);

enum ThreadState : uint32_t { kGetCqEvent = 1, kGetAsyncEvent, kGetCmEvent, kDestroy, kRelease };  // ledger/threads.h
inline constexpr uint32_t kMaxKinds = 64;

struct ThreadRow {
  std::atomic<uint32_t> state;  // what it is inside
  std::atomic<int32_t> tid;     // 0: none
  uint64_t verb;                // key of a kVerb record
  uint64_t object;              // the handle
  uint64_t begin;               // CLOCK_MONOTONIC, nanoseconds
  uint32_t serial, stack;       // 0: not known
  uint32_t kind, unused;
  std::atomic<uint64_t> calls;  // of all threads that had this row
  std::atomic<uint64_t> created[kMaxKinds];  // objects that the program made, by kind
};
static_assert(sizeof(ThreadRow) == 568);

enum class RecordType : uint16_t {
  kVerb,      // key: the address that stands for it; text: its name
  kDevice,    // key: what a context's third number says; text
  kKind,      // key: its number; text
  kNumber,    // a number of a kind: NumberName; text: its name
  kProcess,   // key: a ProcessText; text
  kModule,    // key: its number; ModuleBody; text: its path
  kStack,     // key: its number; StackBody and Places; text: of each Python frame its function, file and line, ended by 0
  kForProgram // key: a stack whose objects are the program's though a library made them
};
enum ProcessText : uint64_t { kExe, kHost, kRank };

struct Record {
  uint32_t bytes;       // of all of it, a multiple of 8
  RecordType type;
  uint16_t text_bytes;  // at the end of the body
  uint64_t key;
};
struct NumberName {
  uint32_t kind;
  uint8_t word, part, hex, unused;
};
struct ModuleBody {
  char build_id[64];  // lower-case hex
};
struct StackBody {
  uint64_t verb;   // key of a kVerb record
  uint16_t depth;
  uint8_t kind;    // what the verb creates there
  uint8_t owner;   // of the direct caller: stacks/module_table.h; 0: the program
  uint32_t unused;
};
struct Place {
  uint64_t offset;
  uint32_t module, python_part;  // report/python_frames.h
};

constexpr uint32_t RowsIn(uint32_t row_bytes) { return kSegmentBytes / row_bytes; }
inline constexpr uint32_t kObjectsInSegment = RowsIn(sizeof(ObjectRow));
// Changes with any size above: two builds that disagree do not read each other's journals.
inline constexpr uint32_t kLayout = sizeof(Header) * 1000003u ^ sizeof(ObjectRow) * 10007u ^ sizeof(ExtraRow) * 1009u ^
                                    sizeof(ThreadRow) * 101u ^ sizeof(Record) * 11u ^ sizeof(StackBody) ^ sizeof(Place) << 8;

}  // namespace rdmacheck::journal
