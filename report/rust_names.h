// Names of Rust functions as rustc writes them into symbols: v0 ("_RNvC4echo4main") and the older form, which is a C++ name
// whose last part is a hash ("_ZN4echo4main17h0123456789abcdefE").
//
// Symbols come from files that anybody made: work, depth and length of a result are bounded.
#pragma once

#include <string>
#include <string_view>

namespace rdmacheck {

// "echo::main"; without hashes and crates' numbers. False: it is no such name, or of a form that is not known.
bool DemangleRust(std::string_view symbol, std::string* name);

}  // namespace rdmacheck
