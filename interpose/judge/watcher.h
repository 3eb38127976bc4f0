// The thread that says what a destroy waits for. It exists only while a destroy is under way that has something to wait
// for: a program whose destroys never can wait never gets a thread of ours.
#pragma once

#include "interpose/checker/call.h"

namespace rdmacheck {

// From now on this destroy (its thread's activity has begun) is watched; call EndWatch when it returns.
void BeginWatch(Call& call, Slot slot);
void EndWatch(Checker& checker, ThreadRecord* self, Slot slot);

}  // namespace rdmacheck
