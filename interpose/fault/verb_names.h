// Every verb of the tables by name, and what a fault can do with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rdmacheck::fault {

enum class Deed : uint8_t { kUses, kCreates, kDestroys, kGetsEvent };

struct VerbName {
  const char* name;
  Deed deed;
  bool can_fail;  // it returns something
};

// In the order of all_verbs.def. A verb that has both an exported function and a slot stands once for each.
extern const VerbName kVerbNames[];
extern const size_t kVerbCount;

// Null: no table has it.
const VerbName* FindVerb(std::string_view name);

// The error of a fault that names none: what a program has to expect of such a call, and nothing that the checker takes
// for a lost device.
int UsualError(Deed deed);

}  // namespace rdmacheck::fault
