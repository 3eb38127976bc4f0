// Finds a function in a loaded library by reading its symbol table: the way to the real dlsym and dlvsym, which cannot
// be asked of dlsym once that name is ours.
#pragma once

namespace rdmacheck {

// The default version of `name` in the first loaded file whose name begins with `file` ("libc.so."); null if none.
void* FindInLoadedFile(const char* file, const char* name);

}  // namespace rdmacheck
