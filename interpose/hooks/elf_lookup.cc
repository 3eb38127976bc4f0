#include "interpose/hooks/elf_lookup.h"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>

namespace rdmacheck {
namespace {

struct Wanted {
  const char* file;
  const char* name;
  void* found;
};

// Some C libraries relocate the pointers of the dynamic section, some leave them relative.
template <class T>
T* At(const dl_phdr_info* info, ElfW(Addr) pointer) {
  return reinterpret_cast<T*>(pointer < info->dlpi_addr ? info->dlpi_addr + pointer : pointer);
}

uint32_t GnuHash(const char* name) {
  uint32_t h = 5381;
  for (; *name != '\0'; ++name) h = h * 33 + static_cast<unsigned char>(*name);
  return h;
}

void Search(const dl_phdr_info* info, const ElfW(Dyn)* dynamic, Wanted* wanted) {
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* hash = nullptr;
  const uint16_t* versions = nullptr;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    switch (dynamic->d_tag) {
      case DT_SYMTAB: symbols = At<const ElfW(Sym)>(info, dynamic->d_un.d_ptr); break;
      case DT_STRTAB: strings = At<const char>(info, dynamic->d_un.d_ptr); break;
      case DT_GNU_HASH: hash = At<const uint32_t>(info, dynamic->d_un.d_ptr); break;
      case DT_VERSYM: versions = At<const uint16_t>(info, dynamic->d_un.d_ptr); break;
      default: break;
    }
  }
  if (symbols == nullptr || strings == nullptr || hash == nullptr) return;
  const uint32_t buckets = hash[0], first = hash[1], bloom_words = hash[2];
  const auto* bucket = reinterpret_cast<const uint32_t*>(reinterpret_cast<const ElfW(Addr)*>(hash + 4) + bloom_words);
  const uint32_t* chain = bucket + buckets;
  const uint32_t h = GnuHash(wanted->name);
  uint32_t i = buckets == 0 ? 0 : bucket[h % buckets];
  if (i < first) return;
  for (;; ++i) {
    const uint32_t other = chain[i - first];
    const bool is_default = versions == nullptr || (versions[i] & 0x8000) == 0;
    if (((other ^ h) >> 1) == 0 && is_default && symbols[i].st_shndx != SHN_UNDEF &&
        strcmp(strings + symbols[i].st_name, wanted->name) == 0) {
      wanted->found = reinterpret_cast<void*>(info->dlpi_addr + symbols[i].st_value);
      return;
    }
    if ((other & 1) != 0) return;
  }
}

int Visit(dl_phdr_info* info, size_t, void* data) {
  Wanted* wanted = static_cast<Wanted*>(data);
  const char* slash = info->dlpi_name == nullptr ? nullptr : strrchr(info->dlpi_name, '/');
  const char* base = slash == nullptr ? info->dlpi_name : slash + 1;
  if (base == nullptr || strncmp(base, wanted->file, strlen(wanted->file)) != 0) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    Search(info, reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr), wanted);
  }
  return wanted->found != nullptr;
}

}  // namespace

void* FindInLoadedFile(const char* file, const char* name) {
  Wanted wanted{file, name, nullptr};
  dl_iterate_phdr(&Visit, &wanted);
  return wanted.found;
}

}  // namespace rdmacheck
