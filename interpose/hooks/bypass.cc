#include "interpose/hooks/bypass.h"

#include <elf.h>
#include <link.h>

#include <climits>
#include <cstdint>
#include <cstring>

#include "interpose/hooks/plt_rows.h"
#include "interpose/ledger/loader_name.h"

namespace rdmacheck {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kJumpSlot = R_X86_64_JUMP_SLOT, kGlobDat = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
constexpr uint32_t kJumpSlot = R_AARCH64_JUMP_SLOT, kGlobDat = R_AARCH64_GLOB_DAT;
#else
constexpr uint32_t kJumpSlot = 0, kGlobDat = 0;
#endif

struct Watched {
  const char* name;
  Library library;
};

const Watched* FindWatched(const char* name) {
  // A process has a hundred thousand relocations, nearly all about something else.
  if (strchr("irme_h", name[0]) == nullptr) return nullptr;
  if (strncmp(name, "ibv_", 4) != 0 && name[0] != 'r' && strstr(name, "dv_") == nullptr) return nullptr;
  static constexpr Watched kWatched[] = {
#define PLT_VERB(library, version, symbol, argc, ...) {#symbol, Library::library},
#define SLOT_VERB(symbol, slot, ...)
#include "interpose/verbs/all_verbs.def"
#undef PLT_VERB
#undef SLOT_VERB
  };
  for (const Watched& watched : kWatched) {
    if (strcmp(watched.name, name) == 0) return &watched;
  }
  return nullptr;
}

struct File {
  std::string path;
  uintptr_t base;
  const ElfW(Dyn)* dynamic;
};

int Collect(dl_phdr_info* info, size_t, void* data) {
  char name[PATH_MAX];
  CopyLoaderName(info->dlpi_name, name, sizeof(name));
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    static_cast<std::vector<File>*>(data)->push_back(
        {name, info->dlpi_addr,
         reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr)});
  }
  return 0;
}

// The first watched function that this file's table of addresses has at the library itself, or null.
const char* FirstBypass(const File& file) {
  auto at = [&file](ElfW(Addr) pointer) { return pointer < file.base ? file.base + pointer : pointer; };
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  struct Table {
    uintptr_t begin = 0;
    size_t size = 0;
  } tables[2];
  for (const ElfW(Dyn)* entry = file.dynamic; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB: symbols = reinterpret_cast<const ElfW(Sym)*>(at(entry->d_un.d_ptr)); break;
      case DT_STRTAB: strings = reinterpret_cast<const char*>(at(entry->d_un.d_ptr)); break;
      case DT_JMPREL: tables[0].begin = at(entry->d_un.d_ptr); break;
      case DT_PLTRELSZ: tables[0].size = entry->d_un.d_val; break;
      case DT_RELA: tables[1].begin = at(entry->d_un.d_ptr); break;
      case DT_RELASZ: tables[1].size = entry->d_un.d_val; break;
      default: break;
    }
  }
  if (symbols == nullptr || strings == nullptr) return nullptr;
  for (const Table& table : tables) {
    const auto* rela = reinterpret_cast<const ElfW(Rela)*>(table.begin);
    for (size_t i = 0; rela != nullptr && i < table.size / sizeof(*rela); ++i) {
      const auto type = static_cast<uint32_t>(ELF64_R_TYPE(rela[i].r_info));
      if (type != kJumpSlot && type != kGlobDat) continue;
      const char* name = strings + symbols[ELF64_R_SYM(rela[i].r_info)].st_name;
      const Watched* watched = FindWatched(name);
      if (watched == nullptr) continue;
      // A call that was never made is not bound yet: its slot points into the file itself.
      const void* target = *reinterpret_cast<void* const*>(file.base + rela[i].r_offset);
      if (LiesIn(watched->library, target)) return watched->name;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> CallersThatBypass() {
  std::vector<std::string> sentences;
  if (PathOfLoaded(Library::kIbverbs).empty()) return sentences;
  std::vector<File> files;
  dl_iterate_phdr(&Collect, &files);
  for (const File& file : files) {
    const size_t slash = file.path.rfind('/');
    const std::string name = slash == std::string::npos ? file.path : file.path.substr(slash + 1);
    // The real libraries hold their own functions' addresses.
    bool own = false;
    for (Library library : {Library::kIbverbs, Library::kMlx5, Library::kMlx4, Library::kEfa, Library::kHns,
                            Library::kRdmacm}) {
      own |= name.compare(0, strlen(SonameOf(library)), SonameOf(library)) == 0;
    }
    if (own) continue;
    const char* verb = FirstBypass(file);
    if (verb == nullptr) continue;
    sentences.push_back((file.path.empty() ? std::string("the program") : file.path) + " calls " + verb +
                        " of the library itself (RTLD_DEEPBIND?): what it makes is not seen");
  }
  return sentences;
}

}  // namespace rdmacheck
