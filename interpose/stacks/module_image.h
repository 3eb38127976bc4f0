// What the names of a loaded file's code are read from: its bytes, mapped when its code is first met, so that neither the file
// nor a descriptor is needed when a report is made.
#pragma once

#include <link.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace rdmacheck {

struct LoadedFile {
  std::string path;
  std::string build_id;  // lower-case hex, or empty
  const ElfW(Phdr)* segments = nullptr;
  int segment_count = 0;
  uintptr_t base = 0;
  const ElfW(Dyn)* dynamic = nullptr;
  bool is_program = false;
};

// Stays for the life of the process. Where another file lies at that path by now, or none: the file itself if the kernel gives it
// (of the program always), else one that is made of the symbols in memory. Empty: there is nothing.
std::string_view KeepImageOf(const LoadedFile& file);

}  // namespace rdmacheck
