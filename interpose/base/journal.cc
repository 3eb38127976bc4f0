#include "interpose/base/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "interpose/base/quiet_lock.h"
#include "report/frugal.h"
#include "report/own_descriptors.h"
#include "report/process_id.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace rdmacheck {
namespace {

using journal::ExtraRow;
using journal::Header;
using journal::kSegmentBytes;
using journal::Record;
using journal::RecordType;
using journal::Segment;
using journal::SegmentKind;
using journal::ThreadRow;

constexpr uint64_t kLeast = 4 * kSegmentBytes;   // header, objects, threads, records
constexpr uint64_t kStep = 256 * 1024, kLargestStep = uint64_t{4} << 20;
constexpr uint64_t kWithoutPopulate = uint64_t{32} << 20;  // reserved at once on kernels before 5.14

Mutex mutex;

struct State {
  std::string path;  // absolute
  dev_t device = 0;
  ino_t inode = 0;
  uint64_t bytes = 0, reserved = 0;
  bool grows = true, full = false;
  void (*on_full)() = nullptr;
  uint32_t threads = 0, threads_end = 0;  // where the next row lies, and where its segment ends
  uint32_t extras = 0, extras_end = 0, free_extra = 0;
  uint32_t records = 0;  // the segment; 0: none yet
};
State* state = nullptr;

Header& HeaderAt(char* base) { return *reinterpret_cast<Header*>(base); }
Segment* TableAt(char* base) { return reinterpret_cast<Segment*>(base + journal::kTableOffset); }

uint64_t LimitOf(__rlimit_resource which) {
  rlimit limit{};
  return getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ? ~uint64_t{0} : limit.rlim_cur;
}

// ---- the file. By system calls: what opens a file in the C library is a cancellation point.

bool IsRegular(int fd, struct stat* info) { return fstat(fd, info) == 0 && S_ISREG(info->st_mode); }

struct OwnerRequest {
  const char* path;
  int owner;
  dev_t device;
  ino_t inode;
};

int AskOwner(void* data) {
  auto* request = static_cast<OwnerRequest*>(data);
  const int fd = static_cast<int>(
      syscall(SYS_openat, AT_FDCWD, request->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0));
  if (fd < 0) return errno;
  alignas(Header) char bytes[sizeof(Header)];
  struct stat info = {};
  if (IsRegular(fd, &info) && syscall(SYS_pread64, fd, bytes, sizeof(bytes), 0) == static_cast<long>(sizeof(bytes)) &&
      memcmp(bytes, journal::kMagic, sizeof(journal::kMagic)) == 0) {
    request->owner = reinterpret_cast<const Header*>(bytes)->pid;
    request->device = info.st_dev;
    request->inode = info.st_ino;
  }
  syscall(SYS_close, fd);
  return 0;
}

void Ask(OwnerRequest* request) {
  if (AskOwner(request) == EMFILE) WithOwnDescriptors(&AskOwner, request);
}

struct OpenRequest {
  const char* path;
  char* base;
  State* state;
};

// Room from `from` on; an errno value where there is none.
int Populate(char* base, uint64_t from, uint64_t bytes) {
  if (madvise(base + from, bytes, MADV_POPULATE_WRITE) == 0) return 0;
  return errno == EFAULT || errno == ENOMEM ? ENOSPC : errno;
}

int MapFile(int fd, OpenRequest* request) {
  State& of = *request->state;
  struct stat info = {};
  if (!IsRegular(fd, &info)) return EINVAL;
  of.device = info.st_dev;
  of.inode = info.st_ino;
  // A larger file than the limit allows would bring SIGXFSZ.
  of.bytes = std::min(journal::kLargest, LimitOf(RLIMIT_FSIZE)) & ~uint64_t{kSegmentBytes - 1};
  const uint64_t address_space = LimitOf(RLIMIT_AS);
  if (address_space != ~uint64_t{0}) of.bytes = std::min(of.bytes, address_space / 16 & ~uint64_t{kSegmentBytes - 1});
  if (of.bytes < kLeast) return EFBIG;
  void* at = MAP_FAILED;
  while (at == MAP_FAILED) {
    at = mmap(nullptr, of.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (at != MAP_FAILED) break;
    if (errno != ENOMEM || of.bytes / 2 < kLeast) return errno;
    of.bytes /= 2;
  }
  request->base = static_cast<char*>(at);
  if (madvise(at, of.bytes, MADV_DONTFORK) != 0) return errno;
  madvise(at, of.bytes, MADV_DONTDUMP);
  if (syscall(SYS_ftruncate, fd, of.bytes) != 0) return errno;
  of.reserved = std::min(kStep, of.bytes);
  int error = Populate(request->base, 0, of.reserved);
  if (error == EINVAL) {
    of.grows = false;
    of.reserved = std::min(kWithoutPopulate, of.bytes);
    error = syscall(SYS_fallocate, fd, 0, 0, of.reserved) == 0 ? 0 : errno;
  }
  return error;
}

int OpenNow(void* data) {
  auto* request = static_cast<OpenRequest*>(data);
  const int fd = static_cast<int>(
      syscall(SYS_openat, AT_FDCWD, request->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (fd < 0) return errno;
  const int error = MapFile(fd, request);
  syscall(SYS_close, fd);
  if (error != 0) {
    if (request->base != nullptr) munmap(request->base, request->state->bytes);
    request->base = nullptr;
    syscall(SYS_unlinkat, AT_FDCWD, request->path, 0);
  }
  return error;
}

int Open(OpenRequest* request) {
  const int error = OpenNow(request);
  return error == EMFILE ? WithOwnDescriptors(&OpenNow, request) : error;
}

internal::JournalPage* MapPage() {
  internal::JournalPage* page = internal::journal_page.load();
  if (page != &internal::no_journal) return page;  // of the process that forked this one
  void* at = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  if (madvise(at, 4096, MADV_WIPEONFORK) != 0) {
    munmap(at, 4096);
    return nullptr;
  }
  return new (at) internal::JournalPage;
}

// ---- segments

void Full() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
  if (state->full) return;
  state->full = true;
  if (state->on_full != nullptr) state->on_full();
}

bool Reserve(char* base, uint64_t end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
  if (end <= state->reserved) return true;
  if (end > state->bytes || !state->grows || Frugal()) return false;
  const int saved = errno;
  const uint64_t quarter = state->reserved / 4 & ~uint64_t{kSegmentBytes - 1};
  const uint64_t step = std::min(std::max(quarter, kStep), kLargestStep);
  uint64_t wanted = std::min(std::max(end, state->reserved + step), state->bytes);
  int error = Populate(base, state->reserved, wanted - state->reserved);
  if (error == ENOSPC && wanted > end) {
    wanted = end;
    error = Populate(base, state->reserved, wanted - state->reserved);
  }
  if (error == 0) state->reserved = wanted;
  errno = saved;
  return error == 0;
}

// 0: there is no room.
uint32_t AddSegment(char* base, SegmentKind kind, uint32_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
  Header& header = HeaderAt(base);
  const uint32_t segment = header.segments.load(std::memory_order_relaxed);
  if (state->full) return 0;
  if (segment >= journal::kMaxSegments || !Reserve(base, uint64_t{segment + 1} * kSegmentBytes)) {
    Full();
    return 0;
  }
  Segment& row = TableAt(base)[segment];
  row.number.store(number, std::memory_order_relaxed);
  row.kind.store(kind, std::memory_order_relaxed);
  header.segments.store(segment + 1, std::memory_order_release);
  return segment;
}

// The next row of a kind; its segment is made when the last one is used up.
uint32_t TakeRow(char* base, SegmentKind kind, uint32_t row_bytes, uint32_t* next, uint32_t* end)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
  if (*next == *end) {
    const uint32_t segment = AddSegment(base, kind, 0);
    if (segment == 0) return 0;
    *next = segment * kSegmentBytes;
    *end = *next + journal::RowsIn(row_bytes) * row_bytes;
  }
  const uint32_t place = *next;
  *next += row_bytes;
  return place;
}

}  // namespace

int JournalOwner(const std::string& path) {
  const int saved = errno;
  OwnerRequest request{path.c_str(), 0, 0, 0};
  Ask(&request);
  errno = saved;
  return request.owner;
}

int JournalOpen(const std::string& path, const JournalStart& start) {
  const int saved = errno;
  auto* fresh = new State;
  fresh->path = path;
  fresh->on_full = start.on_full;
  if (!path.empty() && path[0] != '/') {
    char folder[4096];
    if (getcwd(folder, sizeof(folder)) != nullptr) fresh->path = std::string(folder) + "/" + path;
  }
  OpenRequest request{fresh->path.c_str(), nullptr, fresh};
  int error = Open(&request);
  if (error == EEXIST) {
    OwnerRequest owner{fresh->path.c_str(), 0, 0, 0};
    Ask(&owner);
    // This process may have had another program before, whose journal has been read or is of no use any more.
    const bool ended = owner.owner > 0 && owner.owner != ProcessId() && kill(owner.owner, 0) != 0 && errno == ESRCH;
    if (ended && unlink(fresh->path.c_str()) == 0) error = Open(&request);
  }
  internal::JournalPage* const page = error == 0 ? MapPage() : nullptr;
  if (error == 0 && page == nullptr) {
    error = EOPNOTSUPP;  // a kernel before 4.14
    munmap(request.base, fresh->bytes);
    unlink(fresh->path.c_str());
  }
  if (error != 0) {
    delete fresh;
    errno = saved;
    return error;
  }
  Header& header = HeaderAt(request.base);
  header.format = journal::kFormat;
  header.layout = journal::kLayout;
  strncpy(header.version, RDMACHECK_VERSION, sizeof(header.version) - 1);
  header.pid = ProcessId();
  header.ppid = getppid();
  header.started_monotonic = start.started_monotonic;
  header.started_epoch = start.started_epoch;
  header.own_module = start.own_module;
  header.flags.store(start.flags, std::memory_order_relaxed);
  header.segments.store(1, std::memory_order_release);
  JournalOrder();
  memcpy(header.magic, journal::kMagic, sizeof(header.magic));
  {
    QuietLock lock(&mutex);
    state = fresh;
  }
  page->base.store(request.base, std::memory_order_release);
  internal::journal_page.store(page, std::memory_order_release);
  errno = saved;
  return 0;
}

void JournalEnd() {
  char* const base = JournalBase();
  if (base == nullptr) return;
  internal::journal_page.load()->base.store(nullptr, std::memory_order_release);
  QuietLock lock(&mutex);
  HeaderAt(base).ended.store(1, std::memory_order_release);
  if (Frugal()) return;
  const int saved = errno;
  struct stat info = {};
  if (lstat(state->path.c_str(), &info) == 0 && info.st_dev == state->device && info.st_ino == state->inode) {
    unlink(state->path.c_str());
  }
  errno = saved;
}

void JournalSetFlag(uint32_t flag) {
  if (char* const base = JournalBase()) HeaderAt(base).flags.fetch_or(flag, std::memory_order_relaxed);
}

void JournalReserve(size_t bytes) {
  char* const base = JournalBase();
  if (base == nullptr) return;
  QuietLock lock(&mutex);
  const uint64_t end = uint64_t{HeaderAt(base).segments.load(std::memory_order_relaxed)} * kSegmentBytes + bytes;
  Reserve(base, std::min(end, state->bytes));
}

// The page was wiped, so there is no journal. What belongs to the parent's is forgotten.
void JournalForkChild() {
  mutex.Renew();
  if (JournalBase() != nullptr) return;  // this child's own, from a verb in another fork handler
  state = nullptr;
  for (std::atomic<uint16_t>& segment : internal::object_segments) {
    if (segment.load(std::memory_order_relaxed) != 0) segment.store(0, std::memory_order_relaxed);
  }
  for (std::atomic<const char*>& verb : internal::journal_verbs) {
    if (verb.load(std::memory_order_relaxed) != nullptr) verb.store(nullptr, std::memory_order_relaxed);
  }
}

void JournalLeftBy(uint32_t thread) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if (mutex.TakeFrom(thread)) mutex.Unlock();
}

uint32_t internal::AddObjectSegment(char* base, uint32_t number) {
  QuietLock lock(&mutex);
  uint32_t segment = 0;
  if (number < kObjectSegments) {
    segment = object_segments[number].load(std::memory_order_relaxed);
    if (segment == 0) segment = AddSegment(base, SegmentKind::kObjects, number);
    object_segments[number].store(static_cast<uint16_t>(segment), std::memory_order_release);
  }
  if (segment == 0) HeaderAt(base).not_kept.fetch_add(1, std::memory_order_relaxed);
  return segment;
}

// Two names that share a place are added in turns: the reader takes the last that it finds, and they are equal.
void internal::AddVerb(const char* verb, std::atomic<const char*>* place) {
  if (verb == nullptr) return;
  JournalRecord(RecordType::kVerb, reinterpret_cast<uintptr_t>(verb), nullptr, 0, verb);
  place->store(verb, std::memory_order_release);
}

uint32_t JournalTakeThread() {
  char* const base = JournalBase();
  if (base == nullptr) return 0;
  QuietLock lock(&mutex);
  return TakeRow(base, SegmentKind::kThreads, sizeof(ThreadRow), &state->threads, &state->threads_end);
}

uint32_t JournalTakeExtra() {
  char* const base = JournalBase();
  if (base == nullptr) return 0;
  QuietLock lock(&mutex);
  if (const uint32_t place = state->free_extra) {
    state->free_extra = JournalRow<ExtraRow>(base, place)->slot;
    return place;
  }
  return TakeRow(base, SegmentKind::kExtras, sizeof(ExtraRow), &state->extras, &state->extras_end);
}

void JournalFreeExtra(uint32_t place) {
  char* const base = JournalBase();
  if (base == nullptr) return;
  QuietLock lock(&mutex);
  ExtraRow* const row = JournalRow<ExtraRow>(base, place);
  EndRow(&row->state, journal::kNothing);
  row->slot = state->free_extra;
  state->free_extra = place;
}

void JournalRecord(RecordType type, uint64_t key, const void* body, size_t body_bytes, std::string_view text) {
  char* const base = JournalBase();
  if (base == nullptr) return;
  text = text.substr(0, 8192);
  const uint32_t bytes = static_cast<uint32_t>((sizeof(Record) + body_bytes + text.size() + 7) & ~size_t{7});
  if (bytes > kSegmentBytes / 2) return;
  QuietLock lock(&mutex);
  Segment* const table = TableAt(base);
  if (state->records == 0 ||
      table[state->records].number.load(std::memory_order_relaxed) + bytes > kSegmentBytes) {
    const uint32_t segment = AddSegment(base, SegmentKind::kRecords, 0);
    if (segment == 0) return;
    state->records = segment;
  }
  std::atomic<uint32_t>& used = table[state->records].number;
  char* const at = base + state->records * kSegmentBytes + used.load(std::memory_order_relaxed);
  const Record head{bytes, type, static_cast<uint16_t>(text.size()), key};
  memcpy(at, &head, sizeof(head));
  if (body_bytes > 0) memcpy(at + sizeof(head), body, body_bytes);
  if (!text.empty()) memcpy(at + sizeof(head) + body_bytes, text.data(), text.size());
  used.store(used.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
}

}  // namespace rdmacheck
