// Strings that are not ours: names of threads, functions, files and devices, paths, what stands in a suppressions file.
#pragma once

#include <string>
#include <string_view>

namespace rdmacheck {

// One line that a terminal only shows. Control bytes (escape sequences, newlines) become "\x1b", characters that a
// terminal acts on (C1 controls, overrides of the writing direction, line separators, invisible ones) become "\u202e",
// and each part that is not UTF-8 becomes U+FFFD, as it does in the JSON report. What is printable stays as it is, so
// doing it twice does no harm.
std::string Printable(std::string_view text);
void MakePrintable(std::string* text);  // in place

// The same for a text of several lines, whose newlines stay.
std::string PrintableLines(std::string_view text);

}  // namespace rdmacheck
