#include <errno.h>

#include "interpose/stacks/unwind.h"

// Round the program's dlclose() (dlclose_entry.c).
extern "C" void rdmacheck_begin_unload(void) { rdmacheck::UnwinderBeginUnload(); }
extern "C" void rdmacheck_end_unload(void) {
  const int saved = errno;
  rdmacheck::UnwinderEndUnload();
  errno = saved;
}
