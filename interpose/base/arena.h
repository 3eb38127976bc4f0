// The memory of the checker: mapped for it alone, never the program's malloc.
//
// Why: a block of ours that takes the place of what the program has just freed changes what a bug of the program does
// (a freed channel's descriptor becomes one of our counters); a failing malloc of the program's must not be ours too; and
// LeakSanitizer must not count our blocks among the program's. The linker sends malloc() and its kin, as abseil,
// libstdc++, libunwind and we call them, to this file (--wrap; interpose/CMakeLists.txt). Not in sanitizer builds.
//
// Threads: any, also in signal handlers that interrupt none of these functions. No pthread function is called. After
// fork() the child calls ArenaForkChild() before anything else; every step leaves the lists whole, so that a thread that
// vanished in the middle, by a fork or a jump, has lost at most a block.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rdmacheck {

// Null if memory is out, with errno as it was. 16 bytes aligned.
void* ArenaAllocate(size_t size);
void* ArenaAllocateAligned(size_t alignment, size_t size);
void* ArenaReallocate(void* block, size_t size);
void ArenaFree(void* block);

// Memory is out: what is left is a reserve for saying so. Set when the system refuses memory, cleared when it gives
// some again; asked before something new is taken on.
bool ArenaIsExhausted();
// Bytes mapped from the system, for tests and for the report.
uint64_t ArenaMappedBytes();
// Maps this much in advance, so that the next allocations make no system call. False: memory is out.
bool ArenaPrefill(size_t bytes);

void ArenaForkChild();
// That thread has jumped out of all that it was in here.
void ArenaLeftBy(uint32_t thread);

}  // namespace rdmacheck
