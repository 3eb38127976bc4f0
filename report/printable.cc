#include "report/printable.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace rdmacheck {
namespace {

// The character that stands first. `*size`: its bytes, or those of the part that is none; then the result is false.
// The parts are cut as Unicode recommends and as our JSON library does: at the first byte that cannot follow.
bool Decode(std::string_view text, uint32_t* character, size_t* size) {
  const auto at = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  *size = 1;
  *character = first;
  if (first < 0x80) return true;
  if (first < 0xC2 || first > 0xF4) return false;
  const size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  // Not the longer forms of what is shorter, not the halves of a surrogate pair, nothing above U+10FFFF.
  unsigned char low = 0x80, high = 0xBF;
  if (first == 0xE0) low = 0xA0;
  if (first == 0xED) high = 0x9F;
  if (first == 0xF0) low = 0x90;
  if (first == 0xF4) high = 0x8F;
  *character = first & (0x7Fu >> length);
  for (; *size < length; ++*size, low = 0x80, high = 0xBF) {
    if (*size >= text.size() || at(*size) < low || at(*size) > high) return false;
    *character = *character << 6 | (at(*size) & 0x3F);
  }
  return true;
}

bool IsActedOn(uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) ||  // controls
         c == 0xAD || c == 0x61C || c == 0x180E ||
         (c >= 0x200B && c <= 0x200F && c != 0x200D) ||  // no width, direction; 200D joins what belongs together
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFB) ||
         (c >= 0xE0000 && c <= 0xE0FFF);
}

void AppendEscape(std::string* out, uint32_t c) {
  constexpr char kDigits[] = "0123456789abcdef";
  const int digits = c < 0x80 ? 2 : c < 0x10000 ? 4 : 8;
  *out += c < 0x80 ? "\\x" : c < 0x10000 ? "\\u" : "\\U";
  for (int i = digits - 1; i >= 0; --i) *out += kDigits[c >> (4 * i) & 15];
}

std::string Cleaned(std::string_view text, bool keep_newlines) {
  const auto is_plain = [keep_newlines](char c) { return (c >= 0x20 && c < 0x7F) || (keep_newlines && c == '\n'); };
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const size_t plain = static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_plain) - text.begin());
    clean.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    uint32_t character = 0;
    size_t size = 0;
    if (!Decode(text, &character, &size)) {
      clean += "\xEF\xBF\xBD";
    } else if (IsActedOn(character)) {
      AppendEscape(&clean, character);
    } else {
      clean.append(text.substr(0, size));
    }
    text.remove_prefix(size);
  }
  return clean;
}

}  // namespace

std::string Printable(std::string_view text) { return Cleaned(text, false); }
void MakePrintable(std::string* text) { *text = Cleaned(*text, false); }
std::string PrintableLines(std::string_view text) { return Cleaned(text, true); }

}  // namespace rdmacheck
