// errno values in the words people search for.
#pragma once

#include <string>

namespace rdmacheck {

// "EBUSY"; "errno 999" for a value without a name; the sign is ignored (some verbs answer -errno).
std::string ErrnoName(int value);

// "Device or resource busy", always in English: the C locale's words, whatever the program's locale is.
std::string ErrnoText(int value);

}  // namespace rdmacheck
