// A file in memory, whole and read-only, without a descriptor.
#pragma once

#include <string>
#include <string_view>

namespace rdmacheck {

class MappedFile {
 public:
  MappedFile() = default;
  // Opens, maps and closes, also where the program has no descriptor left. What is no regular file, or cannot be had,
  // is empty. Keeps errno; no cancellation point.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::string_view bytes() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }
  // Gives the mapping away: it stays for the life of the process.
  std::string_view Keep();

 private:
  std::string_view bytes_;
};

// Who reads a mapping behind the end of a file that was truncated since is killed by SIGBUS. The kernel is asked
// whether the last byte is still there: ask shortly before the bytes are read. What remains is a file that is truncated
// in just that moment; linkers and package managers replace files and do not truncate them.
bool IsStillWhole(std::string_view mapping);

}  // namespace rdmacheck
