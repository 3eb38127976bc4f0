#include "interpose/ledger/module_table.h"

#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <climits>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "interpose/ledger/loader_name.h"

namespace rdmacheck {
namespace {

struct Range {
  uintptr_t begin, end;
};

struct Walk {
  void* const* addresses;
  size_t count;
  std::vector<Module> modules;
  std::vector<int> module_of;  // for each address an index into modules, or -1
};

std::string BuildIdOf(const dl_phdr_info* info) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    const char* const end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
      const char* name = at + sizeof(*note);
      const char* data = name + ((note->n_namesz + 3u) & ~3u);
      if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
        static constexpr char kHex[] = "0123456789abcdef";
        std::string id;
        for (uint32_t k = 0; k < note->n_descsz; ++k) {
          id += kHex[static_cast<unsigned char>(data[k]) >> 4];
          id += kHex[static_cast<unsigned char>(data[k]) & 15];
        }
        return id;
      }
      at = data + ((note->n_descsz + 3u) & ~3u);
    }
  }
  return std::string();
}

std::string PathOf(const dl_phdr_info* info) {
  char name[PATH_MAX];
  CopyLoaderName(info->dlpi_name, name, sizeof(name));
  if (name[0] != '\0') {
    // Paths relative to a folder the program may leave are made whole while it is still there.
    if (name[0] == '/' || strchr(name, '/') == nullptr) return name;
    char whole[PATH_MAX];
    return realpath(name, whole) != nullptr ? whole : name;
  }
  const ssize_t n = readlink("/proc/self/exe", name, sizeof(name));
  return n > 0 ? std::string(name, static_cast<size_t>(n)) : std::string("[program]");
}

int Visit(dl_phdr_info* info, size_t, void* data) {
  Walk* walk = static_cast<Walk*>(data);
  int module = -1;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    for (size_t k = 0; k < walk->count; ++k) {
      const uintptr_t address = reinterpret_cast<uintptr_t>(walk->addresses[k]);
      if (address < begin || address >= begin + segment.p_memsz) continue;
      if (module < 0) {
        module = static_cast<int>(walk->modules.size());
        Module seen;
        seen.path = PathOf(info);
        seen.build_id = BuildIdOf(info);
        seen.base = info->dlpi_addr;
        seen.owner = OwnerOf(seen.path);
        walk->modules.push_back(std::move(seen));
      }
      walk->module_of[k] = module;
    }
  }
  return 0;
}

}  // namespace

Module::Owner OwnerOf(const std::string& path) {
  absl::string_view name = path;
  if (const size_t slash = name.rfind('/'); slash != absl::string_view::npos) name.remove_prefix(slash + 1);
  if (absl::StartsWith(name, "librdmacm.so")) return Module::Owner::kLibrdmacm;
  if (absl::StartsWith(name, "libibverbs.so")) return Module::Owner::kLibibverbs;
  for (const char* provider : {"libmlx5.so", "libmlx4.so", "libefa.so", "libhns.so", "libmana.so", "libionic.so"}) {
    if (absl::StartsWith(name, provider)) return Module::Owner::kDirectVerbs;
  }
  if (absl::StrContains(name, "-rdmav")) return Module::Owner::kDirectVerbs;
  return Module::Owner::kProgram;
}

void ModuleTable::Resolve(void* const* addresses, size_t count, CodePlace* places) {
  Walk walk{addresses, count, {}, std::vector<int>(count, -1)};
  dl_iterate_phdr(&Visit, &walk);
  std::vector<ModuleId> ids;
  for (const Module& seen : walk.modules) ids.push_back(IdOf(seen));
  for (size_t k = 0; k < count; ++k) {
    const int m = walk.module_of[k];
    places[k] = CodePlace();
    if (m < 0) {
      places[k].offset = reinterpret_cast<uintptr_t>(addresses[k]);
      continue;
    }
    places[k].module = ids[static_cast<size_t>(m)];
    places[k].offset = reinterpret_cast<uintptr_t>(addresses[k]) - walk.modules[static_cast<size_t>(m)].base;
  }
}

ModuleId ModuleTable::IdOf(const Module& seen) {
  MutexLock lock(&mutex_);
  for (size_t i = 0; i < modules_.size(); ++i) {
    const Module& known = modules_[i];
    if (known.base == seen.base && known.path == seen.path && known.build_id == seen.build_id) {
      return static_cast<ModuleId>(i + 1);
    }
  }
  if (modules_.size() >= 65534) return 0;
  modules_.push_back(seen);
  return static_cast<ModuleId>(modules_.size());
}

Module ModuleTable::Get(ModuleId id) const {
  MutexLock lock(&mutex_);
  return id == 0 || id > modules_.size() ? Module() : modules_[id - 1];
}

}  // namespace rdmacheck
