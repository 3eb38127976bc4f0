/* Annotations for programs that run under rdmacheck.
 *
 * The functions are weak: a program that calls the wrappers below links without the library and runs without it, where
 * they do nothing. C and C++. Every function may be called from any thread, and none changes errno.
 */
#ifndef RDMACHECK_RDMACHECK_H
#define RDMACHECK_RDMACHECK_H

#include <errno.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RDMACHECK_WEAK __attribute__((weak))

/* 1 under the library. */
RDMACHECK_WEAK int rdmacheck_active(void);
/* Errors reported so far in this process (suppressed ones left out). */
RDMACHECK_WEAK int rdmacheck_check_now(void);
/* Writes the JSON of what is alive to this path (no % sequences); 0 or an errno value. */
RDMACHECK_WEAK int rdmacheck_snapshot(const char* path);
/* A checkpoint; a small positive id. */
RDMACHECK_WEAK int rdmacheck_growth_begin(void);
/* How many objects that were made since that checkpoint still live; they are reported as a warning (open-at-exit's words,
 * never an error). -1: no such checkpoint. */
RDMACHECK_WEAK int rdmacheck_growth_end(int id);
/* The object with this handle is held for the process's life on purpose: it is not reported as a leak. */
RDMACHECK_WEAK void rdmacheck_ignore(const void* handle);
/* Between the two, what the calling thread makes is not judged. They nest. */
RDMACHECK_WEAK void rdmacheck_disable(void);
RDMACHECK_WEAK void rdmacheck_enable(void);

/* The same without the question whether the library is there. */
static inline int rdmacheck_is_active(void) { return rdmacheck_active ? rdmacheck_active() : 0; }
static inline int rdmacheck_errors_now(void) { return rdmacheck_check_now ? rdmacheck_check_now() : 0; }
static inline int rdmacheck_write_snapshot(const char* path) {
  return rdmacheck_snapshot ? rdmacheck_snapshot(path) : ENOSYS;
}
static inline int rdmacheck_begin_growth(void) { return rdmacheck_growth_begin ? rdmacheck_growth_begin() : 0; }
static inline int rdmacheck_end_growth(int id) { return rdmacheck_growth_end ? rdmacheck_growth_end(id) : 0; }
static inline void rdmacheck_hold(const void* handle) {
  if (rdmacheck_ignore) rdmacheck_ignore(handle);
}
static inline void rdmacheck_pause(void) {
  if (rdmacheck_disable) rdmacheck_disable();
}
static inline void rdmacheck_resume(void) {
  if (rdmacheck_enable) rdmacheck_enable();
}

#ifdef __cplusplus
}
#endif

#endif
