// Lines of source files, for the page. A report names the files, and anybody may have written it: only regular files
// with the ending of a programming language are read, so that a page never carries somebody's key away.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

namespace rdmacheck {

struct SourceLines {
  int first = 0;  // number of lines[0]; 0: the file cannot be shown
  std::vector<std::string> lines;
};

class SourceReader {
 public:
  // The line with three before and two after it.
  SourceLines Around(const std::string& file, int line);

 private:
  const std::vector<std::string>& LinesOf(const std::string& file);

  std::unordered_map<std::string, std::vector<std::string>> files_;
  size_t bytes_ = 0;  // read so far
};

}  // namespace rdmacheck
