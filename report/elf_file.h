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
  std::string_view bytes() const { return bytes_; }

  // Lower-case hex; empty if there is none.
  std::string BuildId() const;
  // What .gnu_debuglink names; empty if there is none. `crc`: of all bytes of that file (zlib's crc32).
  std::string DebugLink(uint32_t* crc = nullptr) const;
  // The packed file in .gnu_debugdata; empty if there is none.
  std::string_view PackedDebugData() const;
  // The build-id in .gnu_debugaltlink, as lower-case hex; empty if there is none.
  std::string DebugAltLink() const;

  // The mangled name of the function at an address as the file counts them (the first segment of a PIE lies at 0), by
  // .symtab or, without one, .dynsym; empty if none covers it. `begin`: where it begins. Sorts the table at the first call, if
  // there is memory for that.
  std::string FunctionAt(uint64_t address, uint64_t* begin = nullptr);
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
    uint8_t rank = 0;
    bool Covers(uint64_t wanted) const { return wanted >= address && wanted - address < size; }
    // Of several names for one address the last is taken: let that be the one that people call, a global one with the fewest
    // underscores in front (fork; not __fork, not __libc_fork).
    bool ComesBefore(const Symbol& other) const {
      return address != other.address ? address < other.address : rank < other.rank;
    }
  };

  bool Read(uint64_t offset, void* out, size_t size) const;
  std::string_view Bytes(uint64_t offset, uint64_t size) const;
  std::string_view Bytes(const Section& section) const;
  template <class Visit>
  void ForEachFunction(Visit visit) const;
  void LoadSymbols();

  void ReadHeaders();

  MappedFile file_;
  std::string_view bytes_;
  bool ok_ = false;
  std::vector<Section> sections_;
  bool loaded_ = false;
  bool memory_was_out_ = false;  // there is no sorted table
  std::vector<Symbol> symbols_;  // by address
  std::string_view names_;
};

// The build-id among these notes (of a file or of loaded memory), as lower-case hex; empty if there is none.
std::string BuildIdIn(std::string_view notes);

}  // namespace rdmacheck
