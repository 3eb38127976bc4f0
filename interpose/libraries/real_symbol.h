// Finds the function a hook stands before, once for each row.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "interpose/libraries/elf_lookup.h"

namespace rdmacheck {

// The libraries whose functions are watched.
enum class Library : uint8_t { kIbverbs, kMlx5, kMlx4, kEfa, kHns, kRdmacm };
const char* SonameOf(Library library);
inline constexpr Library kLibraries[] = {Library::kIbverbs, Library::kMlx5, Library::kMlx4,
                                         Library::kEfa,     Library::kHns,  Library::kRdmacm};
// Is this a loaded file of the library, by the name that the loader has for it? Known by the head of its last part:
// libmlx5.so.1 is a link to libmlx5.so.1.24.44.0.
bool IsFileOf(Library library, const char* loader_name);

// A handle of the library if it is in the process, however it came in (also by an RTLD_LOCAL dlopen); null otherwise.
// Never loads it.
void* HandleOfLoaded(Library library);
std::string PathOfLoaded(Library library);

// Is this address inside the library?
bool LiesIn(Library library, const void* address);

// What the caller would have got without us: the next definition in search order, else the library's own. Null: there is
// no such function here.
void* FindReal(Library library, const char* name, const char* version);

// Whether libibverbs lets a destroy that returns EIO count as done (RDMAV_ALLOW_DISASSOC_DESTROY).
// As libibverbs itself has decided; call it after the first ibv_get_device_list. Falls back on the environment, by
// libibverbs' own rule ("0" means off).
bool LibibverbsAllowsDisassociation();

}  // namespace rdmacheck
