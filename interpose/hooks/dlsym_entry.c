/* The exported dlsym and dlvsym.
 *
 * With RTLD_DEFAULT and RTLD_NEXT the answer depends on who asks: the C library looks at the return address. So those
 * questions must reach it by a jump, not a call: the last statement of each function is a tail call with the same
 * arguments, and this file is always built with sibling calls optimised (tests/scenario/dlsym_next.c would notice).
 * A handle of its own says everything, so there the answer can be looked at.
 *
 * Who asks may be a sanitizer's runtime that is preparing itself: until a name is known to be one of ours, nothing is
 * called but what is in elf_lookup.cc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

int rdmacheck_may_be_watched(const char* name);
int rdmacheck_is_missing(const char* name, const char* version);
void* rdmacheck_redirect(void* handle, const char* name, const char* version, void* real);
void* rdmacheck_real_dlsym(void);
void* rdmacheck_real_dlvsym(void);

typedef void* (*dlsym_function)(void*, const char*);
typedef void* (*dlvsym_function)(void*, const char*, const char*);

static int begins_with(const char* text, const char* head) {
  for (; *head != 0; ++text, ++head) {
    if (*text != *head) return 0;
  }
  return 1;
}

/* Nearly every question is about something else. */
int rdmacheck_may_be_watched(const char* name) {
  if (name == NULL) return 0;
  if (begins_with(name, "ibv_") || begins_with(name, "rdma_") || begins_with(name, "rsocket") ||
      begins_with(name, "raccept") || begins_with(name, "rclose")) {
    return 1;
  }
  for (; *name != 0; ++name) {
    if (begins_with(name, "dv_")) return 1; /* the vendors' mlx5dv_ and the like */
  }
  return 0;
}

/* Asked with a name nobody has, so that dlerror() speaks as it would without us. */
static void* nothing(const char* name, const char* version) {
  if (version != NULL) return ((dlvsym_function)rdmacheck_real_dlvsym())(RTLD_NEXT, name, version);
  return ((dlsym_function)rdmacheck_real_dlsym())(RTLD_NEXT, name);
}

static void* of_handle(void* handle, const char* name, const char* version) __attribute__((noinline));
static void* of_handle(void* handle, const char* name, const char* version) {
  void* real = version != NULL ? ((dlvsym_function)rdmacheck_real_dlvsym())(handle, name, version)
                               : ((dlsym_function)rdmacheck_real_dlsym())(handle, name);
  if (real == NULL || !rdmacheck_may_be_watched(name)) return real;
  return rdmacheck_redirect(handle, name, version, real);
}

__attribute__((visibility("default"), used)) void* rdmacheck_dlsym(void* handle, const char* name) {
  if (handle != RTLD_DEFAULT && handle != RTLD_NEXT) return of_handle(handle, name, NULL);
  if (rdmacheck_may_be_watched(name) && rdmacheck_is_missing(name, NULL)) return nothing(name, NULL);
  return ((dlsym_function)rdmacheck_real_dlsym())(handle, name);
}

__attribute__((visibility("default"), used)) void* rdmacheck_dlvsym(void* handle, const char* name, const char* version) {
  if (handle != RTLD_DEFAULT && handle != RTLD_NEXT) return of_handle(handle, name, version);
  if (rdmacheck_may_be_watched(name) && rdmacheck_is_missing(name, version)) return nothing(name, version);
  return ((dlvsym_function)rdmacheck_real_dlvsym())(handle, name, version);
}

/* Every version under which a program may have been bound to them. */
#if defined(__x86_64__)
#define RDMACHECK_OLD "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define RDMACHECK_OLD "GLIBC_2.17"
#endif
#ifdef RDMACHECK_OLD
__attribute__((visibility("default"), used)) void* rdmacheck_dlsym_old(void* handle, const char* name)
    __attribute__((alias("rdmacheck_dlsym")));
__attribute__((visibility("default"), used)) void* rdmacheck_dlvsym_old(void* handle, const char* name,
                                                                        const char* version)
    __attribute__((alias("rdmacheck_dlvsym")));
__asm__(".symver rdmacheck_dlsym_old,dlsym@" RDMACHECK_OLD);
__asm__(".symver rdmacheck_dlvsym_old,dlvsym@" RDMACHECK_OLD);
#endif
__asm__(".symver rdmacheck_dlsym,dlsym@@GLIBC_2.34");
__asm__(".symver rdmacheck_dlvsym,dlvsym@@GLIBC_2.34");
