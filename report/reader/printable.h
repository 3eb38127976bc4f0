// Text from a report that somebody else may have written, made fit for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace rdmacheck {

// Writes as \x1b or \u202e what is no visible character: controls, line separators, what turns the direction of writing.
// Bytes that are not UTF-8 become U+FFFD.
void MakePrintable(std::string* text);
std::string Printable(std::string_view text);

}  // namespace rdmacheck
