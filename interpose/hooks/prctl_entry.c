/* The exported prctl: passed on as it is, but a program that installs a seccomp filter with it is noted.
 *
 * Such a filter allows what a verbs program calls, and kills it at one of the calls that only we make: opening a file for a
 * name, masking a signal, mapping memory. From then on there is none of them (report/frugal.h). A filter that is there before
 * the first verb has to allow what opening a device takes, and changes nothing; nor does one installed by seccomp(2), which
 * the C library has no function for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

void* rdmacheck_real_dlsym(void);
void rdmacheck_seccomp_follows(void);

typedef int (*prctl_function)(int, unsigned long, unsigned long, unsigned long, unsigned long);
typedef void* (*dlsym_function)(void*, const char*);

static prctl_function known;

static prctl_function real_prctl(void) {
  prctl_function real = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
  if (real == NULL) {
    dlsym_function find = (dlsym_function)rdmacheck_real_dlsym();
    if (find != NULL) real = (prctl_function)find(RTLD_NEXT, "prctl");
    __atomic_store_n(&known, real, __ATOMIC_RELEASE);
  }
  return real;
}

/* As the C library reads them: all four, whatever was passed. */
__attribute__((visibility("default"), used)) int rdmacheck_prctl(int option, unsigned long a, unsigned long b,
                                                                 unsigned long c, unsigned long d) {
  if (option == PR_SET_SECCOMP) rdmacheck_seccomp_follows();
  prctl_function real = real_prctl();
  return real != NULL ? real(option, a, b, c, d) : (int)syscall(SYS_prctl, option, a, b, c, d);
}

#if defined(__x86_64__)
__asm__(".symver rdmacheck_prctl,prctl@@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver rdmacheck_prctl,prctl@@GLIBC_2.17");
#endif
