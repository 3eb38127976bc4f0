// Finds the function a hook stands before, once for each row.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "interpose/libraries/elf_lookup.h"

namespace rdmacheck {

// The libraries whose functions are watched.
#define RDMACHECK_LIBRARIES(X)      \
  X(kIbverbs, "libibverbs.so.1")    \
  X(kMlx5, "libmlx5.so.1")          \
  X(kMlx4, "libmlx4.so.1")          \
  X(kEfa, "libefa.so.1")            \
  X(kHns, "libhns.so.1")            \
  X(kRdmacm, "librdmacm.so.1")
#define RDMACHECK_LIBRARY(name, soname) name,
enum class Library : uint8_t { RDMACHECK_LIBRARIES(RDMACHECK_LIBRARY) };
#undef RDMACHECK_LIBRARY
#define RDMACHECK_LIBRARY(name, soname) Library::name,
inline constexpr Library kLibraries[] = {RDMACHECK_LIBRARIES(RDMACHECK_LIBRARY)};
#undef RDMACHECK_LIBRARY
const char* SonameOf(Library library);
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
