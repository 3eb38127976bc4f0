// RDMACHECK_OPTIONS: never hangs or crashes, and a value that was quoted reads back as itself.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "interpose/options/options.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text = std::string(reinterpret_cast<const char*>(data), size).c_str();
  rdmacheck::ParseOptions(text.c_str());
  const rdmacheck::ParseResult one = rdmacheck::ParseOptions(rdmacheck::QuotedOption("log_path", text).c_str());
  if (!one.complaints.empty() || one.options.log_path != text) abort();
  return 0;
}
