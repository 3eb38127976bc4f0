#include "interpose/fault/real.h"

#include <dlfcn.h>

#include "interpose/libraries/elf_lookup.h"

namespace rdmacheck::fault {

void* RealOfC(const char* name) {
  const DlsymFunction find = RealDlsym();
  return find == nullptr ? nullptr : find(RTLD_NEXT, name);
}

}  // namespace rdmacheck::fault
