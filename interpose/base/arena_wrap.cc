// The library's malloc and operator new are the arena's. Linked into the preload library only, with --wrap for each name
// below: every call from an object inside it (abseil, libstdc++, libunwind, libdw, ours) comes here; calls of the C
// library within itself, and the program's, do not.
//
// operator new throws where memory is out; who can do without asks by std::nothrow, and the rest is caught where a verb
// comes in (checker/guard.h).
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include <new>

#include "interpose/base/arena.h"

using rdmacheck::ArenaAllocate;
using rdmacheck::ArenaAllocateAligned;
using rdmacheck::ArenaFree;
using rdmacheck::ArenaReallocate;

namespace {

void* OrEnomem(void* block) {
  if (block == nullptr) errno = ENOMEM;
  return block;
}

void* OrThrow(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void* Copy(const char* text, size_t size) {
  auto* copy = static_cast<char*>(ArenaAllocate(size + 1));
  if (copy == nullptr) return OrEnomem(nullptr);
  memcpy(copy, text, size);
  copy[size] = '\0';
  return copy;
}

}  // namespace

extern "C" {
void* __wrap_malloc(size_t size) { return OrEnomem(ArenaAllocate(size)); }
void __wrap_free(void* block) { ArenaFree(block); }
void* __wrap_calloc(size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return OrEnomem(nullptr);
  void* block = ArenaAllocate(bytes);
  if (block != nullptr) memset(block, 0, bytes);
  return OrEnomem(block);
}
void* __wrap_realloc(void* block, size_t size) {
  if (size == 0 && block != nullptr) {
    ArenaFree(block);
    return nullptr;
  }
  return OrEnomem(ArenaReallocate(block, size));
}
void* __wrap_reallocarray(void* block, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return OrEnomem(nullptr);
  return __wrap_realloc(block, bytes);
}
int __wrap_posix_memalign(void** block, size_t alignment, size_t size) {
  void* found = ArenaAllocateAligned(alignment, size);
  if (found == nullptr) return ENOMEM;
  *block = found;
  return 0;
}
void* __wrap_aligned_alloc(size_t alignment, size_t size) { return OrEnomem(ArenaAllocateAligned(alignment, size)); }
void* __wrap_memalign(size_t alignment, size_t size) { return OrEnomem(ArenaAllocateAligned(alignment, size)); }
char* __wrap_strdup(const char* text) { return static_cast<char*>(Copy(text, strlen(text))); }
char* __wrap_strndup(const char* text, size_t most) { return static_cast<char*>(Copy(text, strnlen(text, most))); }
}

void* operator new(size_t size) { return OrThrow(ArenaAllocate(size)); }
void* operator new[](size_t size) { return OrThrow(ArenaAllocate(size)); }
void* operator new(size_t size, std::align_val_t alignment) {
  return OrThrow(ArenaAllocateAligned(static_cast<size_t>(alignment), size));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return OrThrow(ArenaAllocateAligned(static_cast<size_t>(alignment), size));
}
// Who asks so can do without, so the reserve is not for it.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return rdmacheck::ArenaIsExhausted() ? nullptr : ArenaAllocate(size);
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return rdmacheck::ArenaIsExhausted() ? nullptr : ArenaAllocate(size);
}
void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return rdmacheck::ArenaIsExhausted() ? nullptr : ArenaAllocateAligned(static_cast<size_t>(alignment), size);
}
void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return rdmacheck::ArenaIsExhausted() ? nullptr : ArenaAllocateAligned(static_cast<size_t>(alignment), size);
}
void operator delete(void* block) noexcept { ArenaFree(block); }
void operator delete[](void* block) noexcept { ArenaFree(block); }
void operator delete(void* block, size_t) noexcept { ArenaFree(block); }
void operator delete[](void* block, size_t) noexcept { ArenaFree(block); }
void operator delete(void* block, std::align_val_t) noexcept { ArenaFree(block); }
void operator delete[](void* block, std::align_val_t) noexcept { ArenaFree(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { ArenaFree(block); }
void operator delete[](void* block, size_t, std::align_val_t) noexcept { ArenaFree(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { ArenaFree(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { ArenaFree(block); }
