#include "report/xz.h"

#include <lzma.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace rdmacheck {
namespace {

constexpr size_t kLargest = 64u << 20;
constexpr uint64_t kMostMemory = 128u << 20;  // of the decoder

}  // namespace

std::string Unxz(std::string_view packed) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (packed.empty() || lzma_stream_decoder(&stream, kMostMemory, 0) != LZMA_OK) return {};
  stream.next_in = reinterpret_cast<const uint8_t*>(packed.data());
  stream.avail_in = packed.size();
  std::string out;
  lzma_ret result = LZMA_OK;
  try {
    while (result == LZMA_OK && out.size() < kLargest) {
      const size_t before = out.size();
      out.resize(std::min(std::max<size_t>(4 * packed.size(), 2 * before), kLargest));
      stream.next_out = reinterpret_cast<uint8_t*>(&out[before]);
      stream.avail_out = out.size() - before;
      result = lzma_code(&stream, LZMA_FINISH);
      out.resize(out.size() - stream.avail_out);
    }
  } catch (...) {
    lzma_end(&stream);
    throw;
  }
  lzma_end(&stream);
  return result == LZMA_STREAM_END ? out : std::string();
}

}  // namespace rdmacheck
