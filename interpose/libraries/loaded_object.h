// Which loaded file an address lies in, asked without the loader's lock.
//
// dl_iterate_phdr() takes it. A thread that holds it while another forks leaves it locked in the child forever, and then
// the child's own dlopen() hangs, which it would not have done without us. glibc has had a question without a lock since
// 2.35; before, dl_iterate_phdr() has to do.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace rdmacheck {

// Calls `visit` as dl_iterate_phdr() would, for the loaded file that `address` lies in and no other. What `visit` returned;
// 0 if the address lies in no file. What is visited stays loaded while code of it is on the caller's stack.
int VisitLoadedObject(uintptr_t address, int (*visit)(dl_phdr_info* info, size_t size, void* data), void* data);

// Does this address lie in the file that this function is part of (the preload library)?
bool IsOwnCode(uintptr_t address);

// Can this word be read? The kernel is asked. Only code without unwind information leads here, where a word may be a
// frame pointer or anything.
bool CanRead(uintptr_t address);

}  // namespace rdmacheck
