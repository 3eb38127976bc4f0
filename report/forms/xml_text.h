// Text for XML 1.0. What XML cannot hold at all, not even as a reference, is written as \x1b; bytes that are not UTF-8
// become U+FFFD.
#pragma once

#include <string>
#include <string_view>

namespace rdmacheck {

std::string XmlText(std::string_view text);  // of an element or, in double quotes, of an attribute

}  // namespace rdmacheck
