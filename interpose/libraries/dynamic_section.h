// What the dynamic section of a loaded file points to. Calls nothing and is always inlined, so it may be used where nothing
// works yet and nothing may be instrumented (elf_lookup.cc).
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

namespace rdmacheck {

#if defined(__x86_64__)
inline constexpr uint32_t kJumpSlot = R_X86_64_JUMP_SLOT, kGlobDat = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
inline constexpr uint32_t kJumpSlot = R_AARCH64_JUMP_SLOT, kGlobDat = R_AARCH64_GLOB_DAT;
#else
#error "which relocations hold the addresses of functions of other files?"
#endif

struct DynamicSection {
  struct Relocations {
    const ElfW(Rela)* first = nullptr;
    size_t count = 0;
  };
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  size_t string_bytes = 0;
  const uint32_t* hash = nullptr;      // DT_GNU_HASH
  const uint32_t* old_hash = nullptr;  // DT_HASH
  const uint16_t* versions = nullptr;  // null: symbols have none
  Relocations calls, others;           // DT_JMPREL, DT_RELA

  __attribute__((always_inline)) DynamicSection(uintptr_t base, const ElfW(Dyn)* entry) {
    for (; entry->d_tag != DT_NULL; ++entry) {
      const ElfW(Addr) value = entry->d_un.d_val;
      // Some C libraries relocate the pointers, some leave them relative.
      const ElfW(Addr) address = value < base ? base + value : value;
      switch (entry->d_tag) {
        case DT_SYMTAB: symbols = reinterpret_cast<const ElfW(Sym)*>(address); break;
        case DT_STRTAB: strings = reinterpret_cast<const char*>(address); break;
        case DT_STRSZ: string_bytes = value; break;
        case DT_HASH: old_hash = reinterpret_cast<const uint32_t*>(address); break;
        case DT_GNU_HASH: hash = reinterpret_cast<const uint32_t*>(address); break;
        case DT_VERSYM: versions = reinterpret_cast<const uint16_t*>(address); break;
        case DT_JMPREL: calls.first = reinterpret_cast<const ElfW(Rela)*>(address); break;
        case DT_PLTRELSZ: calls.count = value / sizeof(ElfW(Rela)); break;
        case DT_RELA: others.first = reinterpret_cast<const ElfW(Rela)*>(address); break;
        case DT_RELASZ: others.count = value / sizeof(ElfW(Rela)); break;
        default: break;
      }
    }
  }
  const char* NameOf(const ElfW(Rela) & relocation) const {
    return strings + symbols[ELF64_R_SYM(relocation.r_info)].st_name;
  }
};

}  // namespace rdmacheck
