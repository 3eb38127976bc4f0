// A file in memory, whole and read-only, without a descriptor.
#pragma once

#include <string>
#include <string_view>

namespace rdmacheck {

// Who truncates a file that is mapped ends whoever reads it there. So this is for files of code, which linkers and package
// managers replace and do not truncate.
class MappedFile {
 public:
  MappedFile() = default;
  // Opens, maps and closes. What is no regular file, or cannot be had, is empty. Keeps errno.
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

}  // namespace rdmacheck
