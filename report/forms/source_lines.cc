#include "report/forms/source_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "report/printable.h"

namespace rdmacheck {
namespace {

constexpr off_t kLargestFile = off_t{4} << 20;
constexpr size_t kMostBytes = size_t{64} << 20;
constexpr size_t kLongestLine = 300;

bool IsSource(std::string_view path) {
  const size_t dot = path.find_last_of("./");
  if (dot == std::string_view::npos || path[dot] != '.') return false;
  const std::string_view ending = path.substr(dot + 1);
  for (const std::string_view one : {"c",   "cc", "cpp", "cxx", "c++", "C",  "h",   "hh",  "hpp", "hxx", "inc", "inl",
                                     "ipp", "rs", "go",  "py",  "pyx", "cu", "cuh", "f90", "F90", "zig", "d",   "jl"}) {
    if (ending == one) return true;
  }
  return false;
}

}  // namespace

const std::vector<std::string>& SourceReader::LinesOf(const std::string& file) {
  const auto [it, added] = files_.try_emplace(file);
  std::vector<std::string>& lines = it->second;
  if (!added || !IsSource(file) || bytes_ > kMostBytes) return lines;
  // O_NONBLOCK: opening a FIFO would wait for its writer.
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return lines;
  struct stat info {};
  std::string text;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= kLargestFile) {
    text.resize(static_cast<size_t>(info.st_size));
    size_t have = 0;
    while (have < text.size()) {
      const ssize_t n = read(fd, &text[have], text.size() - have);
      if (n <= 0) break;
      have += static_cast<size_t>(n);
    }
    text.resize(have);
  }
  close(fd);
  bytes_ += text.size();
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, std::min(end - at, kLongestLine)));
    at = end + 1;
  }
  return lines;
}

SourceLines SourceReader::Around(const std::string& file, int line) {
  SourceLines out;
  const std::vector<std::string>& lines = LinesOf(file);
  // A file that has fewer lines than the report says is not the one that was compiled.
  if (line <= 0 || static_cast<size_t>(line) > lines.size()) return out;
  out.first = std::max(1, line - 3);
  const size_t last = std::min(lines.size(), static_cast<size_t>(line) + 2);
  for (size_t i = static_cast<size_t>(out.first); i <= last; ++i) {
    std::string text;
    for (const char c : lines[i - 1]) text += c == '\t' ? "    " : std::string(1, c);
    out.lines.push_back(Printable(text));
  }
  return out;
}

}  // namespace rdmacheck
