#include "interpose/libraries/real_symbol.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

#include <cstring>

#include "interpose/libraries/fault_library.h"
#include "interpose/libraries/loader_name.h"

namespace rdmacheck {
namespace {

struct Search {
  Library library;
  const void* address;
  char path[4096];
  bool inside;
};

int Visit(dl_phdr_info* info, size_t, void* data) {
  Search* search = static_cast<Search*>(data);
  if (!IsFileOf(search->library, info->dlpi_name)) return 0;
  if (search->path[0] == '\0') {
    CopyLoaderName(info->dlpi_name, search->path, sizeof(search->path));
  }
  const uintptr_t address = reinterpret_cast<uintptr_t>(search->address);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= begin && address < begin + segment.p_memsz) search->inside = true;
  }
  return 0;
}

Search LookFor(Library library, const void* address) {
  Search search{library, address, {}, false};
  dl_iterate_phdr(&Visit, &search);
  return search;
}

}  // namespace

const char* SonameOf(Library library) {
#define RDMACHECK_LIBRARY(name, soname) soname,
  static constexpr const char* kSonames[] = {RDMACHECK_LIBRARIES(RDMACHECK_LIBRARY)};
#undef RDMACHECK_LIBRARY
  return kSonames[static_cast<size_t>(library)];
}

bool IsFileOf(Library library, const char* loader_name) {
  char base[128];
  return strncmp(CopyLoaderBaseName(loader_name, base, sizeof(base)), SonameOf(library), strlen(SonameOf(library))) == 0;
}

void* HandleOfLoaded(Library library) {
  // The count of opens this adds is never given back: the library must not go while hooks point into it.
  if (void* handle = dlopen(SonameOf(library), RTLD_LAZY | RTLD_NOLOAD)) return handle;
  const Search search = LookFor(library, nullptr);
  void* handle = search.path[0] == '\0' ? nullptr : dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) dlerror();  // the failed questions were ours, not the program's
  return handle;
}

std::string PathOfLoaded(Library library) { return LookFor(library, nullptr).path; }

bool LiesIn(Library library, const void* address) { return LookFor(library, address).inside; }

void* FindReal(Library library, const char* name, const char* version) {
  const DlvsymFunction dlvsym_real = RealDlvsym();
  if (dlvsym_real == nullptr) return nullptr;
  void* real = dlvsym_real(RTLD_NEXT, name, version);
  if (real != nullptr && FaultLibraryLacks(name, version)) return nullptr;
  if (real == nullptr) {
    if (void* handle = HandleOfLoaded(library)) real = dlvsym_real(handle, name, version);
  }
  if (real == nullptr) dlerror();
  return real;
}

bool LibibverbsAllowsDisassociation() {
  // The variable itself, if this libibverbs can be asked; it has read its environment by now.
  if (void* handle = HandleOfLoaded(Library::kIbverbs)) {
    const void* flag = RealDlsym()(handle, "verbs_allow_disassociate_destroy");
    if (flag != nullptr) return *static_cast<const bool*>(flag);
    dlerror();
  }
  for (const char* name : {"RDMAV_ALLOW_DISASSOC_DESTROY", "MLX4_DEVICE_FATAL_CLEANUP"}) {
    const char* value = getenv(name);
    if (value != nullptr && strcmp(value, "0") != 0) return true;
  }
  return false;
}

}  // namespace rdmacheck
