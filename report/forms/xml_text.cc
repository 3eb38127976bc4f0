#include "report/forms/xml_text.h"

#include <cstddef>
#include <cstdio>

#include "report/reader/json_pull.h"

namespace rdmacheck {

std::string XmlText(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      text.remove_prefix(1);
      continue;
    }
    const std::string_view one = text.substr(0, length);
    text.remove_prefix(length);
    if (length > 1) {
      // U+FFFE and U+FFFF are no characters of XML.
      out += one == "\xEF\xBF\xBE" || one == "\xEF\xBF\xBF" ? std::string_view("\xEF\xBF\xBD") : one;
      continue;
    }
    switch (one[0]) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\n':
        out += "&#10;";  // in an attribute a bare one would be read as a space
        break;
      case '\t':
        out += "&#9;";
        break;
      default:
        if (one[0] >= 0x20 && one[0] < 0x7F) {
          out += one;
        } else {
          char escaped[8];
          snprintf(escaped, sizeof(escaped), "\\x%02x", static_cast<unsigned char>(one[0]));
          out += escaped;
        }
    }
  }
  return out;
}

}  // namespace rdmacheck
