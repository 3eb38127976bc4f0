// The suppressions file: a line that is taken reads back as itself.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "report/suppressions.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> complaints;
  rdmacheck::Suppressions read = rdmacheck::Suppressions::Parse(text, "fuzz", &complaints);
  rdmacheck::Frame frame;
  frame.function = "ns::f(int)";
  frame.file = "/src/a.cc";
  frame.line = 3;
  frame.module = "/lib/libx.so.1";
  frame.build_id = "c0ffee";
  read.Match("leak-at-close", {frame});
  for (const rdmacheck::Suppression& row : read.rows()) {
    if (row.where == "built-in") continue;
    std::vector<std::string> more;
    const rdmacheck::Suppressions once = rdmacheck::Suppressions::Parse(row.Line(), "again", &more);
    if (!more.empty() || once.rows().front().pattern != row.pattern || once.rows().front().rule != row.rule) abort();
  }
  return 0;
}
