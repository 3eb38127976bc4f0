/* Annotations for programs that run under rdmacheck.
 *
 * A program that calls these eight functions links and runs without the library; there they do nothing and return 0
 * (rdmacheck_snapshot: ENOSYS). C and C++. Any thread may call any of them, in any state; none changes errno.
 *
 * How: the functions of this header look for the library's own ones behind private weak symbols. Programs that do not
 * include it (Python's ctypes, dlsym) find the eight names in the library itself.
 */
#ifndef RDMACHECK_RDMACHECK_H
#define RDMACHECK_RDMACHECK_H

#include <errno.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- private: how the library is found */

/* The address of a weak function, or NULL. It is read from the global offset table: in an executable that is built
 * without -fPIE the linker settles a weak address that the code names directly, as 0, before the library is there. */
#if defined(__x86_64__)
#define RDMACHECK_PRIVATE_FIND(pointer, symbol) \
  __asm__(".weak " #symbol "\n\tmovq " #symbol "@GOTPCREL(%%rip), %0" : "=r"(pointer))
#elif defined(__aarch64__)
#define RDMACHECK_PRIVATE_FIND(pointer, symbol)                                                   \
  __asm__(".weak " #symbol "\n\tadrp %0, :got:" #symbol "\n\tldr %0, [%0, :got_lo12:" #symbol "]" \
          : "=r"(pointer))
#else
#define RDMACHECK_PRIVATE_FIND(pointer, symbol) (pointer) = &symbol
extern int rdmacheck_private_active(void) __attribute__((weak));
extern int rdmacheck_private_check_now(void) __attribute__((weak));
extern int rdmacheck_private_snapshot(const char*) __attribute__((weak));
extern int rdmacheck_private_growth_begin(void) __attribute__((weak));
extern int rdmacheck_private_growth_end(int) __attribute__((weak));
extern void rdmacheck_private_ignore(const void*) __attribute__((weak));
extern void rdmacheck_private_disable(void) __attribute__((weak));
extern void rdmacheck_private_enable(void) __attribute__((weak));
#endif

/* ---- the eight functions */

/* 1 under the library. */
static __inline__ int rdmacheck_active(void) {
  int (*function)(void);
  RDMACHECK_PRIVATE_FIND(function, rdmacheck_private_active);
  return function ? function() : 0;
}

/* Errors reported so far in this process; suppressed ones are not counted. */
static __inline__ int rdmacheck_check_now(void) {
  int (*function)(void);
  RDMACHECK_PRIVATE_FIND(function, rdmacheck_private_check_now);
  return function ? function() : 0;
}

/* Writes the JSON report, with what is alive now, to this path (no % sequences). 0, or an errno value: EINVAL for no
 * path, else why the file could not be written. */
static __inline__ int rdmacheck_snapshot(const char* path) {
  int (*function)(const char*);
  RDMACHECK_PRIVATE_FIND(function, rdmacheck_private_snapshot);
  return function ? function(path) : ENOSYS;
}

/* Sets a checkpoint. Its id, a small positive number. */
static __inline__ int rdmacheck_growth_begin(void) {
  int (*function)(void);
  RDMACHECK_PRIVATE_FIND(function, rdmacheck_private_growth_begin);
  return function ? function() : 0;
}

/* How many objects created since that checkpoint are still alive; they are reported as a warning (open-at-exit), never
 * as an error. -1: there is no such checkpoint. */
static __inline__ int rdmacheck_growth_end(int id) {
  int (*function)(int);
  RDMACHECK_PRIVATE_FIND(function, rdmacheck_private_growth_end);
  return function ? function(id) : 0;
}

/* The object with this handle (ibv_mr*, ibv_qp*, rdma_cm_id* …) is kept for the life of the process on purpose: it is
 * not reported as a leak. An address that is no known object is ignored. */
static __inline__ void rdmacheck_ignore(const void* handle) {
  void (*function)(const void*);
  RDMACHECK_PRIVATE_FIND(function, rdmacheck_private_ignore);
  if (function) function(handle);
}

/* What the calling thread creates between the two is not judged. They nest. */
static __inline__ void rdmacheck_disable(void) {
  void (*function)(void);
  RDMACHECK_PRIVATE_FIND(function, rdmacheck_private_disable);
  if (function) function();
}
static __inline__ void rdmacheck_enable(void) {
  void (*function)(void);
  RDMACHECK_PRIVATE_FIND(function, rdmacheck_private_enable);
  if (function) function();
}

#ifdef __cplusplus
}
#endif

#endif
