#include "interpose/libraries/past_sanitizer.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "interpose/libraries/dynamic_section.h"
#include "interpose/libraries/elf_lookup.h"
#include "interpose/libraries/loaded_object.h"

extern "C" void __tsan_init() __attribute__((weak));

namespace rdmacheck {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool kWatched = true;  // this library was built with it, to be watched
#else
constexpr bool kWatched = false;
#endif

// Those by which the sanitizer knows of threads and of the end of the process.
bool MustStay(const char* name) {
  for (const char* one : {"pthread_", "sem_", "__cxa_", "__tls_", "on_exit", "_exit", "clone", "dlopen"}) {
    if (strncmp(name, one, strlen(one)) == 0) return true;
  }
  return false;
}

struct OwnFile {
  uintptr_t base = 0;
  const ElfW(Dyn)* dynamic = nullptr;
  uintptr_t read_only = 0, read_only_end = 0;  // after relocation
};

int Note(dl_phdr_info* info, size_t, void* data) {
  auto* file = static_cast<OwnFile*>(data);
  file->base = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type == PT_DYNAMIC) file->dynamic = reinterpret_cast<const ElfW(Dyn)*>(file->base + part.p_vaddr);
    if (part.p_type != PT_GNU_RELRO) continue;
    const uintptr_t page = static_cast<uintptr_t>(getpagesize());
    file->read_only = (file->base + part.p_vaddr) & ~(page - 1);
    file->read_only_end = (file->base + part.p_vaddr + part.p_memsz) & ~(page - 1);
  }
  return 1;
}

void Protect(const OwnFile& file, int protection) {
  if (file.read_only < file.read_only_end) {
    mprotect(reinterpret_cast<void*>(file.read_only), file.read_only_end - file.read_only, protection);
  }
}

}  // namespace

void CallPastSanitizer() {
  if (&__tsan_init == nullptr || kWatched) return;
  void* libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  OwnFile file;
  VisitLoadedObject(reinterpret_cast<uintptr_t>(&CallPastSanitizer), &Note, &file);
  if (libc == nullptr || file.dynamic == nullptr) return;
  const DynamicSection section(file.base, file.dynamic);
  Protect(file, PROT_READ | PROT_WRITE);
  for (size_t i = 0; i < section.calls.count; ++i) {
    const ElfW(Rela)& call = section.calls.first[i];
    const char* name = section.NameOf(call);
    if (ELF64_R_TYPE(call.r_info) != kJumpSlot || MustStay(name)) continue;
    if (void* own = RealDlsym()(libc, name)) *reinterpret_cast<void**>(file.base + call.r_offset) = own;
  }
  Protect(file, PROT_READ);
}

}  // namespace rdmacheck
