#include "interpose/libraries/elf_lookup.h"

#include <dlfcn.h>

#include <cstdint>

#include "interpose/libraries/dynamic_section.h"

// A sanitizer's checker, or a profiler, that stands before us asks dlsym for the functions it is about to replace: at that
// moment its strcmp and its dl_iterate_phdr are ours too, and do not work yet. So nothing here calls anything, and this
// file is never instrumented.
namespace rdmacheck {
namespace {

bool Same(const char* a, const char* b) {
  for (; *a == *b; ++a, ++b) {
    if (*a == '\0') return true;
  }
  return false;
}

bool BeginsWith(const char* text, const char* head) {
  for (; *head != '\0'; ++text, ++head) {
    if (*text != *head) return false;
  }
  return true;
}

uint32_t GnuHash(const char* name) {
  uint32_t h = 5381;
  for (; *name != '\0'; ++name) h = h * 33 + static_cast<unsigned char>(*name);
  return h;
}

const ElfW(Sym)* SymbolIn(uintptr_t base, const ElfW(Dyn)* dynamic, const char* name) {
  const DynamicSection file(base, dynamic);
  const auto* const symbols = file.symbols;
  const auto* const hash = file.hash;
  if (symbols == nullptr || file.strings == nullptr || hash == nullptr) return nullptr;
  const uint32_t buckets = hash[0], first = hash[1], bloom_words = hash[2];
  const auto* bucket = reinterpret_cast<const uint32_t*>(reinterpret_cast<const ElfW(Addr)*>(hash + 4) + bloom_words);
  const uint32_t* chain = bucket + buckets;
  const uint32_t h = GnuHash(name);
  uint32_t i = buckets == 0 ? 0 : bucket[h % buckets];
  if (i < first) return nullptr;
  for (;; ++i) {
    const uint32_t other = chain[i - first];
    const bool is_default = file.versions == nullptr || (file.versions[i] & 0x8000) == 0;
    if (((other ^ h) >> 1) == 0 && is_default && symbols[i].st_shndx != SHN_UNDEF &&
        Same(file.strings + symbols[i].st_name, name)) {
      return &symbols[i];
    }
    if ((other & 1) != 0) return nullptr;
  }
}

void* Search(const link_map* map, const char* name) {
  const ElfW(Sym)* const symbol = SymbolIn(map->l_addr, map->l_ld, name);
  return symbol == nullptr ? nullptr : reinterpret_cast<void*>(map->l_addr + symbol->st_value);
}

// The default version of `name` in the first loaded file whose name begins with `file`. The C library was there before
// any thread was, so the list up to it does not change while it is read.
void* FindInLoadedFile(const char* file, const char* name) {
  for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next) {
    if (map->l_name == nullptr) continue;
    const char* base = map->l_name;
    for (const char* at = map->l_name; *at != '\0'; ++at) {
      if (*at == '/') base = at + 1;
    }
    if (!BeginsWith(base, file)) continue;
    if (void* found = Search(map, name)) return found;
  }
  return nullptr;
}

// Before glibc 2.34 the two lived in a library of their own.
void* LibcFunction(const char* name) {
  void* found = FindInLoadedFile("libc.so.", name);
  return found != nullptr ? found : FindInLoadedFile("libdl.so.", name);
}

void* known_dlsym = nullptr;
void* known_dlvsym = nullptr;

}  // namespace

DlvsymFunction RealDlvsym() {
  void* real = __atomic_load_n(&known_dlvsym, __ATOMIC_ACQUIRE);
  if (real == nullptr) {
    real = LibcFunction("dlvsym");
    __atomic_store_n(&known_dlvsym, real, __ATOMIC_RELEASE);
  }
  return reinterpret_cast<DlvsymFunction>(real);
}

DlsymFunction RealDlsym() {
  void* real = __atomic_load_n(&known_dlsym, __ATOMIC_ACQUIRE);
  if (real == nullptr) {
    real = LibcFunction("dlsym");
    // Another interposer may stand between us and the C library: chain to it. The look-up is made from this file, so
    // what is "next" is what comes after us.
    if (real != nullptr) {
      void* next = reinterpret_cast<DlsymFunction>(real)(RTLD_NEXT, "dlsym");
      if (next != nullptr) real = next;
    }
    __atomic_store_n(&known_dlsym, real, __ATOMIC_RELEASE);
  }
  return reinterpret_cast<DlsymFunction>(real);
}

CodeRange RangeIn(uintptr_t base, const ElfW(Dyn)* dynamic, const char* name) {
  const ElfW(Sym)* const symbol = dynamic == nullptr ? nullptr : SymbolIn(base, dynamic, name);
  if (symbol == nullptr) return {};
  return {base + symbol->st_value, base + symbol->st_value + symbol->st_size};
}

CodeRange RangeInLibc(const char* name) {
  for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next) {
    if (map->l_name == nullptr || Search(map, "gnu_get_libc_version") == nullptr) continue;
    return RangeIn(map->l_addr, map->l_ld, name);
  }
  return {};
}

void VisitFirstFiles(void (*visit)(uintptr_t base, const ElfW(Dyn)* dynamic)) {
  for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next) {
    if (Search(map, "gnu_get_libc_version") != nullptr) return;
    visit(map->l_addr, map->l_ld);
  }
}

void* AskFor(void* handle, const char* name) {
  const DlsymFunction find = RealDlsym();
  void* const found = find == nullptr ? nullptr : find(handle, name);
  if (found == nullptr) dlerror();
  return found;
}

}  // namespace rdmacheck

extern "C" {
void* rdmacheck_real_dlsym(void) { return reinterpret_cast<void*>(rdmacheck::RealDlsym()); }
void* rdmacheck_real_dlvsym(void) { return reinterpret_cast<void*>(rdmacheck::RealDlvsym()); }
}
