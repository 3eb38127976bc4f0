// What a program that asks dlsym for a verb gets. The exported dlsym and dlvsym are in dlsym_entry.c.
#pragma once

extern "C" {
// Quick: has the name the form of a watched function's? (dlsym_entry.c)
int rdmacheck_may_be_watched(const char* name);
// The default scope, or "next": is `name` one of ours that the real library lacks? Then the program must not find it.
int rdmacheck_is_missing(const char* name, const char* version);
// A real handle: what the program gets, given what the real function returned.
void* rdmacheck_redirect(void* handle, const char* name, const char* version, void* real);
}
