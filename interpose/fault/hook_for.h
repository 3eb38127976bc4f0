// The hooks of exported verbs, by name.
#pragma once

namespace rdmacheck::fault {

// Is there such a row? `version` may be null. IBVERBS_1.0 of a verb of the 1.1 rows is another function.
bool HasRow(const char* name, const char* version);
// There is one, but the library that is loaded has no such function.
bool LibraryLacks(const char* name, const char* version);
// What is given out in place of the library's own function `real`; `real` itself if there is no row.
void* HookFor(const char* name, const char* version, void* real);

}  // namespace rdmacheck::fault
