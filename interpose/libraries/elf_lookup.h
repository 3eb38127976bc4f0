// The real dlsym and dlvsym, found by reading the C library's symbol table: they cannot be asked of dlsym once that name is
// ours. May be called before any constructor has run, from another library's preparations.
#pragma once

#include <link.h>

#include <cstdint>

namespace rdmacheck {

using DlsymFunction = void* (*)(void* handle, const char* name);
using DlvsymFunction = void* (*)(void* handle, const char* name, const char* version);
// Those behind ours: the C library's, or another interposer's.
DlsymFunction RealDlsym();
DlvsymFunction RealDlvsym();
// The same question, of which the program's dlerror() does not hear. Null: there is none.
void* AskFor(void* handle, const char* name);

// Where a function lies in memory; empty if the file defines none of that name. No function of the loader is called.
struct CodeRange {
  uintptr_t begin = 0, end = 0;
  bool Holds(uintptr_t address) const { return address >= begin && address < end; }
};
CodeRange RangeIn(uintptr_t base, const ElfW(Dyn)* dynamic, const char* name);
CodeRange RangeInLibc(const char* name);
// For the files that were there before any thread was, up to the C library: that part of the list does not change.
void VisitFirstFiles(void (*visit)(uintptr_t base, const ElfW(Dyn)* dynamic));

}  // namespace rdmacheck

extern "C" {
void* rdmacheck_real_dlsym(void);
void* rdmacheck_real_dlvsym(void);
}
