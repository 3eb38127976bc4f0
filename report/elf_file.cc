#include "report/elf_file.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace rdmacheck {
namespace {

constexpr unsigned char kOurByteOrder = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;

std::string_view NameAt(std::string_view names, size_t at) {
  if (at >= names.size()) return {};
  names.remove_prefix(at);
  return names.substr(0, names.find('\0'));
}

// Which of several names for one function is the one to be told; see ComesBefore.
uint8_t RankOf(const Elf64_Sym& symbol, std::string_view names) {
  constexpr size_t kMost = 3;
  const size_t underscores = std::min(NameAt(names, symbol.st_name).find_first_not_of('_'), kMost);
  return static_cast<uint8_t>((ELF64_ST_BIND(symbol.st_info) == STB_LOCAL ? 0 : kMost + 1) + kMost - underscores);
}

std::string InHex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

}  // namespace

ElfFile::ElfFile(const std::string& path) : file_(path), bytes_(file_.bytes()) { ReadHeaders(); }
ElfFile::ElfFile(InMemory file) : bytes_(file.bytes) { ReadHeaders(); }

void ElfFile::ReadHeaders() {
  Elf64_Ehdr header;
  if (!Read(0, &header, sizeof(header)) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != kOurByteOrder) {
    return;
  }
  ok_ = true;
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return;
  // Files with very many sections keep the true counts in the first one.
  uint64_t count = header.e_shnum;
  uint64_t names_index = header.e_shstrndx;
  Elf64_Shdr first;
  if ((count == 0 || names_index == SHN_XINDEX) && header.e_shoff != 0 && Read(header.e_shoff, &first, sizeof(first))) {
    if (count == 0) count = first.sh_size;
    if (names_index == SHN_XINDEX) names_index = first.sh_link;
  }
  if (count > bytes_.size() / sizeof(Elf64_Shdr)) return;
  std::vector<Elf64_Shdr> headers(count);
  if (count == 0 || !Read(header.e_shoff, headers.data(), count * sizeof(Elf64_Shdr)) || names_index >= count) return;
  const std::string_view names = Bytes(headers[names_index].sh_offset, headers[names_index].sh_size);
  for (const Elf64_Shdr& section : headers) {
    sections_.push_back({std::string(NameAt(names, section.sh_name)), section.sh_type, section.sh_link,
                         section.sh_flags, section.sh_addr, section.sh_offset, section.sh_size});
  }
}

bool ElfFile::Read(uint64_t offset, void* out, size_t size) const {
  if (offset > bytes_.size() || size > bytes_.size() - offset) return false;
  memcpy(out, bytes_.data() + offset, size);
  return true;
}

std::string_view ElfFile::Bytes(const Section& section) const {
  return section.type == SHT_NOBITS ? std::string_view() : Bytes(section.offset, section.size);
}

std::string_view ElfFile::Bytes(uint64_t offset, uint64_t size) const {
  if (offset > bytes_.size() || size > bytes_.size() - offset) return {};
  return bytes_.substr(offset, size);
}

std::string BuildIdIn(std::string_view notes) {
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr note;
    memcpy(&note, notes.data() + at, sizeof(note));
    const size_t name_at = at + sizeof(note);
    const size_t id_at = name_at + ((size_t{note.n_namesz} + 3) & ~size_t{3});
    if (id_at + note.n_descsz > notes.size()) break;
    if (note.n_type == NT_GNU_BUILD_ID && notes.compare(name_at, 4, std::string_view("GNU\0", 4)) == 0) {
      return InHex(notes.substr(id_at, note.n_descsz));
    }
    at = id_at + ((size_t{note.n_descsz} + 3) & ~size_t{3});
  }
  return {};
}

std::string ElfFile::BuildId() const {
  for (const Section& section : sections_) {
    if (section.type != SHT_NOTE) continue;
    std::string id = BuildIdIn(Bytes(section));
    if (!id.empty()) return id;
  }
  return {};
}

std::string ElfFile::DebugLink(uint32_t* crc) const {
  for (const Section& section : sections_) {
    if (section.name != ".gnu_debuglink") continue;
    const std::string_view link = Bytes(section);
    const std::string_view name = NameAt(link, 0);
    // Behind the name's end, at the next word.
    const size_t at = (name.size() + 4) & ~size_t{3};
    if (crc != nullptr) *crc = 0;
    if (crc != nullptr && at + sizeof(*crc) <= link.size()) memcpy(crc, link.data() + at, sizeof(*crc));
    return std::string(name);
  }
  return {};
}

std::string_view ElfFile::PackedDebugData() const {
  for (const Section& section : sections_) {
    if (section.name == ".gnu_debugdata") return Bytes(section);
  }
  return {};
}

std::string ElfFile::DebugAltLink() const {
  for (const Section& section : sections_) {
    if (section.name != ".gnu_debugaltlink") continue;
    const std::string_view link = Bytes(section);
    const size_t end = link.find('\0');  // of the file's name
    return end == std::string_view::npos ? std::string() : InHex(link.substr(end + 1));
  }
  return {};
}

bool ElfFile::has_symtab() const {
  return std::any_of(sections_.begin(), sections_.end(),
                     [](const Section& section) { return section.type == SHT_SYMTAB && section.size > 0; });
}

// visit(symbol, names)
template <class Visit>
void ElfFile::ForEachFunction(Visit visit) const {
  const uint32_t wanted = has_symtab() ? SHT_SYMTAB : SHT_DYNSYM;
  for (const Section& section : sections_) {
    if (section.type != wanted || section.link >= sections_.size() || (section.flags & SHF_COMPRESSED) != 0) continue;
    const std::string_view names = Bytes(sections_[section.link]), table = Bytes(section);
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= table.size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      memcpy(&symbol, table.data() + at, sizeof(symbol));
      const unsigned type = ELF64_ST_TYPE(symbol.st_info);
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF) continue;
      uint64_t size = symbol.st_size;
      if (size == 0 && symbol.st_shndx < sections_.size()) {
        // Hand-written assembly has no sizes; there the next symbol ends the function, or the section.
        const Section& code = sections_[symbol.st_shndx];
        size = code.address + code.size - symbol.st_value;
        if (size > code.size) continue;
      }
      visit(Symbol{symbol.st_value, size, symbol.st_name, RankOf(symbol, names)}, names);
    }
    break;
  }
}

void ElfFile::LoadSymbols() {
  loaded_ = true;
  try {
    size_t count = 0;
    ForEachFunction([&count](const Symbol&, std::string_view) { ++count; });
    symbols_.reserve(count);
  } catch (const std::bad_alloc&) {
    memory_was_out_ = true;
    return;
  }
  ForEachFunction([this](const Symbol& symbol, std::string_view names) {
    names_ = names;
    symbols_.push_back(symbol);
  });
  std::stable_sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) { return a.ComesBefore(b); });
}

std::string ElfFile::FunctionAt(uint64_t address, uint64_t* begin) {
  if (!loaded_) LoadSymbols();
  Symbol found;
  bool any = false;
  if (memory_was_out_) {
    // Slower, but nothing is needed for it. The last one up to the address counts, as below.
    ForEachFunction([&](const Symbol& symbol, std::string_view names) {
      if (symbol.address > address || (any && symbol.ComesBefore(found))) return;
      any = true;
      found = symbol;
      names_ = names;
    });
  } else {
    const auto after = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                                        [](uint64_t wanted, const Symbol& symbol) { return wanted < symbol.address; });
    if (after != symbols_.begin()) found = *std::prev(after);
  }
  if (!found.Covers(address)) return {};
  if (begin != nullptr) *begin = found.address;
  return std::string(NameAt(names_, found.name));
}

}  // namespace rdmacheck
