// The little of an ELF file that tells whose code an offset is, for machines without libdw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/mapped_file.h"

namespace rdmacheck {

// A 64-bit file of this machine's byte order. Whatever is wrong with a file, it only has no build-id and no symbols.
class ElfFile {
 public:
  // Does nothing but read the headers; ok() tells whether it is an ELF file at all.
  explicit ElfFile(const std::string& path);
  // Of a file in memory, which outlives this.
  struct InMemory {
    std::string_view bytes;
  };
  explicit ElfFile(InMemory file);
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  bool ok() const { return ok_; }

  // Lower-case hex; empty if there is none.
  std::string BuildId() const;
  // What .gnu_debuglink names; empty if there is none.
  std::string DebugLink() const;
  // The build-id in .gnu_debugaltlink, as lower-case hex; empty if there is none.
  std::string DebugAltLink() const;

  // The mangled name of the function at an address as the file counts them (the first segment of a PIE lies at 0), by
  // .symtab or, without one, .dynsym; empty if none covers it. Reads the tables at the first call.
  std::string FunctionAt(uint64_t address);
  bool has_symtab() const;

 private:
  struct Section {
    std::string name;
    uint32_t type = 0, link = 0;
    uint64_t flags = 0, address = 0, offset = 0, size = 0;
  };
  struct Symbol {
    uint64_t address = 0, size = 0;
    uint32_t name = 0;
    bool local = false;
  };

  bool Read(uint64_t offset, void* out, size_t size) const;
  std::string Bytes(uint64_t offset, uint64_t size) const;
  std::string Bytes(const Section& section) const;
  void LoadSymbols();

  void ReadHeaders();

  MappedFile file_;
  std::string_view bytes_;
  bool ok_ = false;
  std::vector<Section> sections_;
  bool loaded_ = false;
  std::vector<Symbol> symbols_;  // by address
  std::string names_;
};

// The build-id among these notes (of a file or of loaded memory), as lower-case hex; empty if there is none.
std::string BuildIdIn(std::string_view notes);

}  // namespace rdmacheck
