#include "interpose/hooks/bypass.h"

#include <link.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstring>

#include "interpose/hooks/dlsym_hook.h"
#include "interpose/hooks/plt_rows.h"
#include "interpose/libraries/dynamic_section.h"
#include "interpose/libraries/loader_name.h"

namespace rdmacheck {
namespace {

struct Watched {
  const char* name;
  Library library;
};

const Watched* FindWatched(const char* name) {
  // A process has a hundred thousand relocations, nearly all about something else.
  if (rdmacheck_may_be_watched(name) == 0) return nullptr;
  static constexpr Watched kWatched[] = {
#define PLT_VERB(library, version, symbol, argc, ...) {#symbol, Library::library},
#define SLOT_VERB(symbol, slot, ...)
#include "interpose/effects/all_verbs.def"
#undef PLT_VERB
#undef SLOT_VERB
  };
  for (const Watched& watched : kWatched) {
    if (strcmp(watched.name, name) == 0) return &watched;
  }
  return nullptr;
}

// Where the code of one watched library lies.
struct Range {
  Library library;
  uintptr_t begin, end;
};

// Both visitors read what they need of a file while dl_iterate_phdr holds the loader's lock: a moment later another
// thread may have unmapped it by dlclose().
int CollectRanges(dl_phdr_info* info, size_t, void* data) {
  for (Library library : kLibraries) {
    if (!IsFileOf(library, info->dlpi_name)) continue;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = info->dlpi_phdr[i];
      const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
      if (segment.p_type != PT_LOAD) continue;
      static_cast<std::vector<Range>*>(data)->push_back({library, begin, begin + segment.p_memsz});
    }
  }
  return 0;
}

struct Scan {
  std::vector<Range> ranges;
  std::vector<Statement> bypasses;
};

bool IsInside(const std::vector<Range>& ranges, Library library, const void* address) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(address);
  return std::any_of(ranges.begin(), ranges.end(), [=](const Range& range) {
    return range.library == library && at >= range.begin && at < range.end;
  });
}

// The first watched function that this file's table of addresses has at the library itself, or null.
const char* FirstBypass(const std::vector<Range>& ranges, uintptr_t base, const ElfW(Dyn)* dynamic) {
  const DynamicSection file(base, dynamic);
  if (file.symbols == nullptr || file.strings == nullptr) return nullptr;
  for (const DynamicSection::Relocations& table : {file.calls, file.others}) {
    for (size_t i = 0; table.first != nullptr && i < table.count; ++i) {
      const ElfW(Rela)& relocation = table.first[i];
      const auto type = static_cast<uint32_t>(ELF64_R_TYPE(relocation.r_info));
      if (type != kJumpSlot && type != kGlobDat) continue;
      const Watched* watched = FindWatched(file.NameOf(relocation));
      if (watched == nullptr) continue;
      // A call that was never made is not bound yet: its slot points into the file itself.
      const void* target = *reinterpret_cast<void* const*>(base + relocation.r_offset);
      if (IsInside(ranges, watched->library, target)) return watched->name;
    }
  }
  return nullptr;
}

int ScanFile(dl_phdr_info* info, size_t, void* data) {
  Scan* scan = static_cast<Scan*>(data);
  // The real libraries hold their own functions' addresses.
  for (Library library : kLibraries) {
    if (IsFileOf(library, info->dlpi_name)) return 0;
  }
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* dynamic = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    const char* verb = FirstBypass(scan->ranges, info->dlpi_addr, dynamic);
    if (verb == nullptr) continue;
    char name[PATH_MAX];
    CopyLoaderName(info->dlpi_name, name, sizeof(name));
    scan->bypasses.push_back(
        Is<Sentence::kCallsDirectly>(name[0] == '\0' ? std::string("the program") : std::string(name), verb));
  }
  return 0;
}

}  // namespace

std::vector<Statement> CallersThatBypass() {
  Scan scan;
  dl_iterate_phdr(&CollectRanges, &scan.ranges);
  const bool has_ibverbs = std::any_of(scan.ranges.begin(), scan.ranges.end(),
                                       [](const Range& range) { return range.library == Library::kIbverbs; });
  if (has_ibverbs) dl_iterate_phdr(&ScanFile, &scan);
  return std::move(scan.bypasses);
}

}  // namespace rdmacheck
