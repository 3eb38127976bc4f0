#include "interpose/base/arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <atomic>
#include <new>

#include "interpose/base/mutex.h"
#include "report/frugal.h"

namespace rdmacheck {
namespace {

constexpr size_t kAlignment = 16;
constexpr size_t kHeader = 16;
// Four classes to each power of two: at most a fifth of a block is wasted.
constexpr size_t kClasses = 40;
constexpr size_t kLargestInClass = 32768;
constexpr size_t kFirstMapping = 256 * 1024, kMapping = 1024 * 1024;
constexpr size_t kReserve = 256 * 1024;
constexpr uint32_t kLarge = 0xffff;
// Large blocks that were freed and wait for their like: a report makes and frees a dozen, each a system call otherwise.
constexpr size_t kKeptBlocks = 16, kKeptBytes = 16u << 20;

struct Header {
  uint32_t size_class;  // kLarge: a mapping of its own
  uint32_t lead;        // bytes from the start of the block (or mapping) to this header, where aligned specially
  uint64_t mapped;      // kLarge: bytes of the mapping
};
static_assert(sizeof(Header) == kHeader, "blocks stay aligned");

struct FreeBlock {
  FreeBlock* next;
};

struct alignas(64) SizeClass {
  Mutex mutex;
  FreeBlock* free = nullptr;
};

// Constant-initialized: used before any constructor of ours has run.
SizeClass classes[kClasses];
Mutex map_mutex;
char* bump = nullptr;
char* bump_end = nullptr;
char* reserve = nullptr;
char* reserve_end = nullptr;
struct Kept {
  void* at;
  size_t bytes;  // 0: none
};
Kept kept[kKeptBlocks];
size_t kept_bytes = 0;
std::atomic<uint64_t> mapped_bytes{0};
std::atomic<bool> exhausted{false};

// What is stored before is stored before, as a signal handler of this thread sees it.
void InThisOrder() { std::atomic_signal_fence(std::memory_order_seq_cst); }

// None while `bump_end` is null.
size_t Left() ABSL_EXCLUSIVE_LOCKS_REQUIRED(map_mutex) {
  return bump_end == nullptr ? 0 : static_cast<size_t>(bump_end - bump);
}
void BeginStretch(char* begin, char* end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(map_mutex) {
  bump_end = nullptr;
  InThisOrder();
  bump = begin;
  InThisOrder();
  bump_end = end;
}

size_t SizeOfClass(uint32_t c) {
  if (c < 4) return 16 * (c + 1);
  const uint32_t power = c / 4 + 5, step = c % 4;  // class 4: 80
  return (size_t{1} << power) * (step + 5) / 4;
}

uint32_t ClassOf(size_t size) {
  for (uint32_t c = size <= 64 ? 0 : 4 * (58 - static_cast<uint32_t>(__builtin_clzl(size - 1)));; ++c) {
    if (SizeOfClass(c) >= size) return c;
  }
}

void* Map(size_t bytes) {
  if (Frugal()) return nullptr;  // there is what was mapped in advance
  const int saved = errno;
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  errno = saved;
  if (at == MAP_FAILED) return nullptr;
  mapped_bytes.fetch_add(bytes, std::memory_order_relaxed);
  return at;
}

// A reserve of the process's, mapped with the first memory and given out when the system gives no more.
char* FromReserve(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(map_mutex) {
  exhausted.store(true, std::memory_order_relaxed);
  if (reserve == nullptr || bytes > static_cast<size_t>(reserve_end - reserve)) return nullptr;
  char* at = reserve;
  reserve += bytes;
  return at;
}

char* Carve(size_t bytes) {
  MutexLock lock(&map_mutex);
  if (bytes > Left()) {
    const bool first = bump == nullptr;
    const size_t size = first ? kFirstMapping + kReserve : kMapping;
    auto* fresh = static_cast<char*>(Map(size));
    if (fresh == nullptr) return FromReserve(bytes);
    exhausted.store(false, std::memory_order_relaxed);
    if (first) {
      reserve_end = fresh + size;
      InThisOrder();
      reserve = fresh + kFirstMapping;
      InThisOrder();
    }
    BeginStretch(fresh, fresh + (first ? kFirstMapping : kMapping));
  }
  char* at = bump;
  bump += bytes;
  return at;
}

// The closest of those kept that is not much too large.
Header* TakeKept(size_t bytes, size_t* found) {
  MutexLock lock(&map_mutex);
  Kept* best = nullptr;
  for (Kept& one : kept) {
    if (one.bytes >= bytes && one.bytes / 2 <= bytes && (best == nullptr || one.bytes < best->bytes)) best = &one;
  }
  if (best == nullptr) return nullptr;
  *found = best->bytes;
  best->bytes = 0;
  InThisOrder();
  kept_bytes -= *found;
  return static_cast<Header*>(best->at);
}

bool Keep(void* at, size_t bytes) {
  MutexLock lock(&map_mutex);
  if (kept_bytes + bytes > kKeptBytes) return false;
  for (Kept& one : kept) {
    if (one.bytes != 0) continue;
    one.at = at;
    kept_bytes += bytes;
    InThisOrder();
    one.bytes = bytes;
    return true;
  }
  return false;
}

void* AllocateLarge(size_t size) {
  size_t bytes = (size + kHeader + 4095) & ~size_t{4095};
  if (bytes < size) return nullptr;
  Header* header = TakeKept(bytes, &bytes);
  if (header == nullptr) header = static_cast<Header*>(Map(bytes));
  if (header == nullptr && Frugal()) header = reinterpret_cast<Header*>(Carve(bytes));
  if (header == nullptr) {
    MutexLock lock(&map_mutex);
    header = reinterpret_cast<Header*>(FromReserve((size + kHeader + kAlignment - 1) & ~(kAlignment - 1)));
    if (header == nullptr) return nullptr;
    // Of the reserve: it has no class to go back to, and is used up.
    *header = Header{kLarge, 0, 0};
    return header + 1;
  }
  *header = Header{kLarge, 0, bytes};
  return header + 1;
}

size_t UsableSize(const Header* header) {
  return header->size_class == kLarge ? header->mapped - kHeader - header->lead
                                      : SizeOfClass(header->size_class) - header->lead;
}

}  // namespace

void* ArenaAllocate(size_t size) {
  if (size > kLargestInClass) return AllocateLarge(size);
  const uint32_t c = ClassOf(size);
  SizeClass& of_size = classes[c];
  {
    MutexLock lock(&of_size.mutex);
    if (FreeBlock* block = of_size.free) {
      of_size.free = block->next;
      InThisOrder();
      return block;
    }
  }
  char* at = Carve(kHeader + SizeOfClass(c));
  if (at == nullptr) return nullptr;
  auto* header = reinterpret_cast<Header*>(at);
  *header = Header{c, 0, 0};
  return header + 1;
}

void* ArenaAllocateAligned(size_t alignment, size_t size) {
  if (alignment <= kAlignment) return ArenaAllocate(size);
  if (size + alignment < size) return nullptr;
  auto* block = static_cast<char*>(ArenaAllocate(size + alignment));
  if (block == nullptr) return nullptr;
  const uintptr_t start = reinterpret_cast<uintptr_t>(block);
  const uintptr_t at = (start + alignment - 1) & ~(alignment - 1);
  if (at == start) return block;
  // A second header before the aligned address leads back to the first.
  const auto* first = reinterpret_cast<const Header*>(block) - 1;
  auto* second = reinterpret_cast<Header*>(at) - 1;
  *second = Header{first->size_class, static_cast<uint32_t>(at - start), first->mapped};
  return second + 1;
}

void* ArenaReallocate(void* block, size_t size) {
  if (block == nullptr) return ArenaAllocate(size);
  const auto* header = static_cast<const Header*>(block) - 1;
  const bool of_reserve = header->size_class == kLarge && header->mapped == 0;
  const size_t have = of_reserve ? 0 : UsableSize(header);
  if (!of_reserve && size <= have && size * 4 >= have) return block;
  void* other = ArenaAllocate(size);
  if (other == nullptr) return nullptr;
  // What came of the reserve does not know its size, but lies in it.
  const size_t limit = of_reserve ? static_cast<size_t>(reserve_end - static_cast<char*>(block)) : have;
  memcpy(other, block, size < limit ? size : limit);
  ArenaFree(block);
  return other;
}

void ArenaFree(void* block) {
  if (block == nullptr) return;
  const auto* header = static_cast<const Header*>(block) - 1;
  char* start = static_cast<char*>(block) - header->lead;
  if (header->size_class == kLarge) {
    if (header->mapped == 0) return;
    const int saved = errno;
    const size_t bytes = header->mapped;
    if (Keep(start - kHeader, bytes) || Frugal()) return;
    mapped_bytes.fetch_sub(bytes, std::memory_order_relaxed);
    munmap(start - kHeader, bytes);
    errno = saved;
    return;
  }
  SizeClass& of_size = classes[header->size_class];
  auto* free = reinterpret_cast<FreeBlock*>(start);
  MutexLock lock(&of_size.mutex);
  free->next = of_size.free;
  InThisOrder();
  of_size.free = free;
}

bool ArenaIsExhausted() { return exhausted.load(std::memory_order_relaxed); }
uint64_t ArenaMappedBytes() { return mapped_bytes.load(std::memory_order_relaxed); }

bool ArenaPrefill(size_t bytes) {
  MutexLock lock(&map_mutex);
  if (bytes <= Left()) return true;
  auto* fresh = static_cast<char*>(Map(bytes));
  if (fresh == nullptr) return false;
  // What is left of the old stretch is small and stays unused.
  BeginStretch(fresh, fresh + bytes);
  return true;
}

void ArenaForkChild() {
  for (SizeClass& of_size : classes) of_size.mutex.Renew();
  map_mutex.Renew();
}

void ArenaLeftBy(uint32_t thread) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (SizeClass& of_size : classes) {
    if (of_size.mutex.TakeFrom(thread)) of_size.mutex.Unlock();
  }
  if (map_mutex.TakeFrom(thread)) map_mutex.Unlock();
}

}  // namespace rdmacheck
