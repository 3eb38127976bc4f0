#include "interpose/stacks/module_image.h"

#include <elf.h>

#include <cstring>
#include <new>

#include "interpose/base/proc_files.h"
#include "interpose/libraries/dynamic_section.h"
#include "report/cat.h"
#include "report/elf_file.h"
#include "report/mapped_file.h"

namespace rdmacheck {
namespace {

// Is this the file that was loaded? Without a build-id its segments must be the same. Only what its first page says is looked at.
bool IsOf(std::string_view bytes, const LoadedFile& file) {
  ElfW(Ehdr) header;
  if (bytes.size() < sizeof(header)) return false;
  memcpy(&header, bytes.data(), sizeof(header));
  const size_t size = header.e_phnum * sizeof(ElfW(Phdr));
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr)) || header.e_phoff > bytes.size() ||
      size > bytes.size() - header.e_phoff) {
    return false;
  }
  const std::string_view segments = bytes.substr(header.e_phoff, size);
  if (file.build_id.empty()) {
    return header.e_phnum == file.segment_count && memcmp(segments.data(), file.segments, size) == 0;
  }
  for (size_t at = 0; at < size; at += sizeof(ElfW(Phdr))) {
    ElfW(Phdr) segment;
    memcpy(&segment, segments.data() + at, sizeof(segment));
    if (segment.p_type != PT_NOTE || segment.p_offset > bytes.size()) continue;
    const std::string id = BuildIdIn(bytes.substr(segment.p_offset, segment.p_filesz));
    if (!id.empty()) return id == file.build_id;
  }
  return false;
}

bool Keep(const std::string& path, const LoadedFile& file, std::string_view* image) {
  MappedFile mapped(path);
  if (mapped.empty() || !IsOf(mapped.bytes(), file)) return false;
  *image = mapped.Keep();
  return true;
}

// How many symbols a table has stands only in what it is searched by.
size_t CountSymbols(const DynamicSection& section) {
  const uint32_t* const hash = section.hash;
  if (hash == nullptr) return section.old_hash == nullptr ? 0 : section.old_hash[1];
  const uint32_t buckets = hash[0], first = hash[1], bloom_words = hash[2];
  const auto* bucket = reinterpret_cast<const uint32_t*>(reinterpret_cast<const ElfW(Addr)*>(hash + 4) + bloom_words);
  const uint32_t* const chain = bucket + buckets;
  uint32_t last = 0;
  for (uint32_t i = 0; i < buckets; ++i) last = bucket[i] > last ? bucket[i] : last;
  if (last < first) return 0;
  while ((chain[last - first] & 1) == 0) ++last;
  return last + 1;
}

// A file of nothing but what is loaded of any file: its exported symbols, and its build-id by which a debug file is found.
std::string ImageOfMemory(const LoadedFile& file) {
  if (file.dynamic == nullptr) return {};
  const DynamicSection section(file.base, file.dynamic);
  const size_t count = CountSymbols(section);
  if (count == 0 || section.symbols == nullptr || section.strings == nullptr || section.string_bytes == 0) return {};

  std::string symbols(reinterpret_cast<const char*>(section.symbols), count * sizeof(ElfW(Sym)));
  for (size_t i = 0; i < count; ++i) {
    // The sections that they name are not there.
    ElfW(Half)* const section_of = reinterpret_cast<ElfW(Half)*>(&symbols[i * sizeof(ElfW(Sym)) + offsetof(ElfW(Sym), st_shndx)]);
    if (*section_of != SHN_UNDEF) *section_of = SHN_ABS;
  }
  std::string note;
  if (!file.build_id.empty()) {
    ElfW(Nhdr) head{4, static_cast<ElfW(Word)>(file.build_id.size() / 2), NT_GNU_BUILD_ID};
    note.assign(reinterpret_cast<const char*>(&head), sizeof(head));
    note.append("GNU\0", 4);
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    for (size_t i = 0; i + 1 < file.build_id.size(); i += 2) {
      note += static_cast<char>(digit(file.build_id[i]) << 4 | digit(file.build_id[i + 1]));
    }
    note.resize((note.size() + 3) & ~size_t{3});
  }

  ElfW(Ehdr) header{};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  header.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(header);
  header.e_shentsize = sizeof(ElfW(Shdr));
  header.e_shnum = 5;
  header.e_shstrndx = 4;
  const std::string_view names("\0.note\0.dynsym\0.dynstr\0.shstrtab\0", 33);
  ElfW(Shdr) sections[5] = {};
  std::string image(sizeof(header), '\0');
  const auto add = [&](int index, ElfW(Word) name, ElfW(Word) type, std::string_view bytes) {
    sections[index].sh_name = name;
    sections[index].sh_type = type;
    sections[index].sh_offset = image.size();
    sections[index].sh_size = bytes.size();
    image += bytes;
    image.resize((image.size() + 7) & ~size_t{7});
  };
  add(1, 1, SHT_NOTE, note);
  add(2, 7, SHT_DYNSYM, symbols);
  sections[2].sh_link = 3;
  sections[2].sh_entsize = sizeof(ElfW(Sym));
  add(3, 15, SHT_STRTAB, std::string_view(section.strings, section.string_bytes));
  add(4, 23, SHT_STRTAB, names);
  header.e_shoff = image.size();
  memcpy(&image[0], &header, sizeof(header));
  image.append(reinterpret_cast<const char*>(sections), sizeof(sections));
  return image;
}

}  // namespace

std::string_view KeepImageOf(const LoadedFile& file) {
  std::string_view image;
  // What the program was started from may have been deleted or replaced since.
  if (file.is_program && (Keep("/proc/self/exe", file, &image) || Keep("/proc/thread-self/exe", file, &image))) return image;
  if (file.path.empty() || file.path[0] != '/') return image;
  if (Keep(file.path, file, &image)) return image;
  // With the capability for it, the kernel gives what is mapped, by whatever name.
  uintptr_t low = 0, high = 0;
  if (FindMapping(file.base, &low, &high)) {
    constexpr size_t kHexPrefix = 2;
    const std::string from = Cat(Hex(low)).substr(kHexPrefix), to = Cat(Hex(high)).substr(kHexPrefix);
    if (Keep(Cat("/proc/self/map_files/", from, "-", to), file, &image)) return image;
  }
  auto* const made = new (std::nothrow) std::string(ImageOfMemory(file));
  return made == nullptr ? image : std::string_view(*made);
}

}  // namespace rdmacheck
