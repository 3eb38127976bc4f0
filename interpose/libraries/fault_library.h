// librdmafault.so, where it is preloaded behind us. It makes verbs fail (docs/faults.md), and what it does is to be seen
// here as the program sees it: our hooks forward to its own.
#pragma once

namespace rdmacheck {

// What stands between us and `real`, a function of the library that was fetched by a handle: the fault library's hook, or
// `real` itself.
void* FaultHookFor(const char* name, const char* version, void* real);

// The next definition is the fault library's, and the library behind it has no such function.
bool FaultLibraryLacks(const char* name, const char* version);

}  // namespace rdmacheck
