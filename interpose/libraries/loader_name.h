// The loader's names of files, read without calling anything.
//
// The loader keeps them under a lock of its own that ThreadSanitizer does not see, and its dl_iterate_phdr() forgives
// reads of the name but not of the byte that ends it. Whoever reads one with strrchr(), or instrumented, is reported to race.
#pragma once

#include <cstddef>

namespace rdmacheck {

// `name` may be null. Cut at the buffer's size; always ended.
const char* CopyLoaderName(const char* name, char* buffer, size_t size);
// The same for what comes after its last slash.
const char* CopyLoaderBaseName(const char* name, char* buffer, size_t size);

}  // namespace rdmacheck
