// Finds the function a hook stands before, once for each row.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "interpose/hooks/elf_lookup.h"

namespace rdmacheck {

// The libraries whose functions are watched.
enum class Library : uint8_t { kIbverbs, kMlx5, kMlx4, kEfa, kHns, kRdmacm };
const char* SonameOf(Library library);

// A handle of the library if it is in the process, however it came in (also by an RTLD_LOCAL dlopen); null otherwise.
// Never loads it.
void* HandleOfLoaded(Library library);
std::string PathOfLoaded(Library library);

// Is this address inside the library?
bool LiesIn(Library library, const void* address);

// What the caller would have got without us: the next definition in search order, else the library's own. Null: there is
// no such function here, and its sentence has been said.
void* FindReal(Library library, const char* name, const char* version);
// The same, in silence: for feature probes.
bool HasReal(Library library, const char* name, const char* version);

}  // namespace rdmacheck
