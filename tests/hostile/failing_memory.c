// Preloaded: malloc and its kin, and mmap, fail. Whoever asks from the program itself or from a library of verbs gets
// his memory: the program need not stand it, the library and what works for it must.
//
//   HOSTILE_FROM=ours|all   only what librdmacheck.so asks for, or also the C library and the others
//   HOSTILE_NTH=n           the n-th such call fails
//   HOSTILE_EVERY=n         every n-th such call fails
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

enum { kRanges = 64 };
static struct {
  uintptr_t start, end;
} ours[kRanges], exempt[kRanges];
static int ours_count, exempt_count;
static long nth, every;
static int from_all, ready;
static _Atomic long calls;

static int note(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  int* first = data;
  const int is_ours = strstr(info->dlpi_name, "librdmacheck") != NULL;
  const int is_exempt = *first || strstr(info->dlpi_name, "/tests/fake/") != NULL || strstr(info->dlpi_name, "failing_memory") != NULL;
  *first = 0;
  if (!is_ours && !is_exempt) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* header = &info->dlpi_phdr[i];
    if (header->p_type != PT_LOAD || (header->p_flags & PF_X) == 0) continue;
    const uintptr_t start = info->dlpi_addr + header->p_vaddr;
    if (is_ours && ours_count < kRanges) {
      ours[ours_count].start = start;
      ours[ours_count++].end = start + header->p_memsz;
    } else if (is_exempt && exempt_count < kRanges) {
      exempt[exempt_count].start = start;
      exempt[exempt_count++].end = start + header->p_memsz;
    }
  }
  return 0;
}

static void note_files(void) {
  int first = 1;
  ours_count = exempt_count = 0;
  dl_iterate_phdr(note, &first);
}

__attribute__((constructor)) static void prepare(void) {
  note_files();
  const char* value = getenv("HOSTILE_NTH");
  nth = value != NULL ? atol(value) : 0;
  value = getenv("HOSTILE_EVERY");
  every = value != NULL ? atol(value) : 0;
  value = getenv("HOSTILE_FROM");
  from_all = value != NULL && strcmp(value, "all") == 0;
  ready = 1;
}

static int fails(const void* caller) {
  if (!ready) return 0;
  const uintptr_t at = (uintptr_t)caller;
  int is_ours = 0;
  for (int i = 0; i < ours_count; ++i) is_ours |= at >= ours[i].start && at < ours[i].end;
  if (!is_ours && !from_all) return 0;
  for (int i = 0; i < exempt_count; ++i) {
    if (at >= exempt[i].start && at < exempt[i].end) return 0;
  }
  const long n = atomic_fetch_add(&calls, 1) + 1;
  if (n != nth && (every == 0 || n % every != 0)) return 0;
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size); }
void* calloc(size_t count, size_t size) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size); }
void* memalign(size_t alignment, size_t size) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void** out, size_t alignment, size_t size) {
  if (fails(__builtin_return_address(0))) return ENOMEM;
  *out = __libc_memalign(alignment, size);
  return *out == NULL ? ENOMEM : 0;
}
void* mmap(void* address, size_t length, int protection, int flags, int fd, off_t offset) {
  if (fails(__builtin_return_address(0))) return MAP_FAILED;
  return (void*)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}
// A program may load its library of verbs late.
void* dlopen(const char* file, int mode) {
  void* (*next)(const char*, int) = (void* (*)(const char*, int))dlsym(RTLD_NEXT, "dlopen");
  void* const library = next(file, mode);
  ready = 0;
  note_files();
  ready = 1;
  return library;
}
