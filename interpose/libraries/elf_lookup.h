// The real dlsym and dlvsym, found by reading the C library's symbol table: they cannot be asked of dlsym once that name is
// ours. May be called before any constructor has run, from another library's preparations.
#pragma once

namespace rdmacheck {

using DlsymFunction = void* (*)(void* handle, const char* name);
using DlvsymFunction = void* (*)(void* handle, const char* name, const char* version);
// Those behind ours: the C library's, or another interposer's.
DlsymFunction RealDlsym();
DlvsymFunction RealDlvsym();
// The same question, of which the program's dlerror() does not hear. Null: there is none.
void* AskFor(void* handle, const char* name);

}  // namespace rdmacheck

extern "C" {
void* rdmacheck_real_dlsym(void);
void* rdmacheck_real_dlvsym(void);
}
