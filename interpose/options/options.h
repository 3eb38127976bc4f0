// What RDMACHECK_OPTIONS says. No globals: the checker keeps the one Options of the process, the command parses its
// own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmacheck {

enum class Unwinder : uint8_t { kLibunwind, kFp, kNone };
enum class EventRaces : uint8_t { kAuto, kAlways, kNever };
enum class Verify : uint8_t { kNone, kKernel };

// One field a row of options.def, holding its default until something else was said.
struct Options {
#define RDMACHECK_OPTION(type, name, default_value, help) type name = default_value;
#include "interpose/options/options.def"
  bool journal_path_given = false;    // it was said, perhaps as empty: then rdmacheck run keeps no journal of its own
  bool hang_timeout_given = false;  // it was said: then every destroy is watched
};

struct ParseResult {
  Options options;
  std::vector<std::string> complaints;  // a sentence each, without a prefix; what they name kept its default
  bool help = false;                    // help=1 was said
};

// Reads the sanitizers' form: name=value, separated by colons or white space; a value that holds a separator stands in
// ' or ". Said twice, the last holds. `text` may be null (the variable is not set). Takes no lock, changes no errno.
ParseResult ParseOptions(const char* text);

// `name=value` as ParseOptions() reads it back, quoted where the value needs it.
std::string QuotedOption(std::string_view name, std::string_view value);

// The table of all options with their defaults, for help=1 and `rdmacheck options`; ends in a newline.
std::string HelpTable();

}  // namespace rdmacheck
