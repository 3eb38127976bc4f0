#include "interpose/libraries/loaded_object.h"

#include <elf.h>

#include <cstring>

#include "interpose/base/stack_bounds.h"
#include "report/frugal.h"
#include "report/readable.h"

extern "C" {
// Since glibc 2.35; weak, so that the library also starts on an older one. The struct as <dlfcn.h> has it there.
struct RdmacheckFoundObject {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  struct link_map* map;
  void* eh_frame;
  unsigned long long reserved[7];
};
int rdmacheck_dl_find_object(void* address, RdmacheckFoundObject* found) __asm__("_dl_find_object") __attribute__((weak));
// Where this file begins and ends in memory; defined by the linker.
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
}

namespace rdmacheck {
namespace {

// The program headers of a file whose mapping begins at `start`, where its ELF header lies (as in all that linkers make).
bool HeadersAt(const char* start, dl_phdr_info* info) {
  ElfW(Ehdr) header;
  memcpy(&header, start, sizeof(header));
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr)) || header.e_phoff == 0 ||
      header.e_phoff + header.e_phnum * sizeof(ElfW(Phdr)) > 4096) {
    return false;
  }
  info->dlpi_phdr = reinterpret_cast<const ElfW(Phdr)*>(start + header.e_phoff);
  info->dlpi_phnum = header.e_phnum;
  return true;
}

struct Wanted {
  uintptr_t address;
  int (*visit)(dl_phdr_info*, size_t, void*);
  void* data;
  int result;
};

int VisitIfInside(dl_phdr_info* info, size_t size, void* data) {
  auto* wanted = static_cast<Wanted*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || wanted->address < begin || wanted->address >= begin + segment.p_memsz) continue;
    wanted->result = wanted->visit(info, size, wanted->data);
    return 1;
  }
  return 0;
}

}  // namespace

int VisitLoadedObject(uintptr_t address, int (*visit)(dl_phdr_info*, size_t, void*), void* data) {
  if (rdmacheck_dl_find_object != nullptr) {
    RdmacheckFoundObject found;
    if (rdmacheck_dl_find_object(reinterpret_cast<void*>(address), &found) != 0) return 0;
    dl_phdr_info info;
    memset(&info, 0, sizeof(info));
    info.dlpi_addr = found.map->l_addr;
    info.dlpi_name = found.map->l_name == nullptr ? "" : found.map->l_name;
    if (HeadersAt(static_cast<const char*>(found.map_start), &info)) return visit(&info, sizeof(info), data);
  }
  Wanted wanted{address, visit, data, 0};
  dl_iterate_phdr(&VisitIfInside, &wanted);
  return wanted.result;
}

// Mostly it is this thread's own stack above us, or a file's table of frames: these are known without a system call.
bool IsOwnCode(uintptr_t address) {
  return address >= reinterpret_cast<uintptr_t>(__ehdr_start) && address < reinterpret_cast<uintptr_t>(_end);
}

bool CanRead(uintptr_t address) {
  if (Frugal()) return false;
  const StackBounds& stack = BoundsOfThisThread();
  const uintptr_t here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  // From the beginning of our page on: libunwind asks for pages.
  const uintptr_t from = here & ~uintptr_t{4095};
  if (stack.Holds(here) && address - from <= stack.high - from - sizeof(uintptr_t)) return true;
  if (rdmacheck_dl_find_object != nullptr) {
    RdmacheckFoundObject found;
    if (rdmacheck_dl_find_object(reinterpret_cast<void*>(address), &found) == 0) return true;
  }
  return CanReadWord(address);
}

}  // namespace rdmacheck

// Called by libunwind in place of dl_iterate_phdr and of its own check, which keeps a pipe open and writes the bytes in
// question into it (scripts/build-deps).
extern "C" {
int rdmacheck_visit_object(uintptr_t address, int (*visit)(dl_phdr_info*, size_t, void*), void* data) {
  return rdmacheck::VisitLoadedObject(address, visit, data);
}
int rdmacheck_can_read(uintptr_t address) { return rdmacheck::CanRead(address); }
}
