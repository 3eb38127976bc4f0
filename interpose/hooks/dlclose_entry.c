/* The exported dlclose: passed on as it is. Where a library goes another may come to lie, and what is known of how the frames of
 * the one are left is not true of the other (stacks/frame_table.h). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

void* rdmacheck_real_dlsym(void);
void rdmacheck_begin_unload(void);
void rdmacheck_end_unload(void);

typedef int (*dlclose_function)(void*);
typedef void* (*dlsym_function)(void*, const char*);

static dlclose_function known;

static dlclose_function real_dlclose(void) {
  dlclose_function real = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
  if (real == NULL) {
    dlsym_function find = (dlsym_function)rdmacheck_real_dlsym();
    if (find != NULL) real = (dlclose_function)find(RTLD_NEXT, "dlclose");
    __atomic_store_n(&known, real, __ATOMIC_RELEASE);
  }
  return real;
}

__attribute__((visibility("default"), used)) int rdmacheck_dlclose(void* handle) {
  dlclose_function real = real_dlclose();
  if (real == NULL) return -1;
  rdmacheck_begin_unload();
  const int result = real(handle);
  rdmacheck_end_unload();
  return result;
}

/* Every version under which a program may have been bound to it. */
#if defined(__x86_64__)
#define RDMACHECK_OLD "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define RDMACHECK_OLD "GLIBC_2.17"
#endif
#ifdef RDMACHECK_OLD
__attribute__((visibility("default"), used)) int rdmacheck_dlclose_old(void* handle) __attribute__((alias("rdmacheck_dlclose")));
__asm__(".symver rdmacheck_dlclose_old,dlclose@" RDMACHECK_OLD);
#endif
__asm__(".symver rdmacheck_dlclose,dlclose@@GLIBC_2.34");
