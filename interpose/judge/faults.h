// Findings that several verbs share: a handle that is NULL, dead, of a closed context or of another process.
#pragma once

#include "interpose/checker/call.h"
#include "interpose/ledger/ledger.h"

namespace rdmacheck {

enum class NullIn : uint8_t { kUse, kCreate, kDestroy };
void SayNull(Call& call, Kind kind, NullIn where);
// What becomes of the call that is reported.
enum class Fate : uint8_t { kForwarded, kDestroyRefused, kGetRefused };
void SayDead(Call& call, const DeadRecord& dead, Fate fate);
void SayDying(Call& call, Slot slot);
void SayClosed(Call& call, Slot slot, Fate fate);
void SayForeign(Call& call, Slot slot);

// Is the object that died at this address still what lies there? An object that was born past us may have been given
// the same address: then it is not dead but unknown. Reads the memory only by a system call that cannot fault.
bool IsStillDead(Checker& checker, const DeadRecord& dead);
// May a channel or context that was born past us lie where this one died? Then its descriptor is open, is one of RDMA's,
// and belongs to nothing that we know.
int FdOf(Kind kind, const Numbers& numbers);  // of a channel or context: what its gets read; else -1
bool MayLiveUnseen(Checker& checker, const DeadRecord& dead);

// The last create of each kind that failed, for null-handle.
void NoteFailedCreate(Call& call, Kind kind, int error);

}  // namespace rdmacheck
