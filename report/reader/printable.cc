#include "report/reader/printable.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "report/reader/json_pull.h"

namespace rdmacheck {
namespace {

bool IsInvisible(uint32_t rune) {
  return rune < 0x20 || (rune >= 0x7F && rune < 0xA0) || rune == 0x61C || (rune >= 0x200B && rune <= 0x200F) ||
         (rune >= 0x2028 && rune <= 0x202E) || (rune >= 0x2060 && rune <= 0x206F) || rune == 0xFEFF ||
         (rune >= 0xFFF9 && rune <= 0xFFFB) || (rune & 0xFFFE) == 0xFFFE || (rune >= 0xE0000 && rune <= 0xE0FFF);
}

// The code point at the front, and its length.
uint32_t Decode(std::string_view text, size_t length) {
  if (length == 1) return static_cast<unsigned char>(text[0]);
  uint32_t rune = static_cast<unsigned char>(text[0]) & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) rune = rune << 6 | (static_cast<unsigned char>(text[i]) & 0x3Fu);
  return rune;
}

}  // namespace

void MakePrintable(std::string* text) {
  bool plain = true;
  for (const char c : *text) plain &= c >= 0x20 && c < 0x7F;
  if (!plain) *text = Printable(*text);
}

std::string Printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      text.remove_prefix(1);
      continue;
    }
    const uint32_t rune = Decode(text, length);
    if (IsInvisible(rune)) {
      char escaped[16];
      snprintf(escaped, sizeof(escaped), rune < 0x100 ? "\\x%02x" : "\\u%04x", rune);
      out += escaped;
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace rdmacheck
