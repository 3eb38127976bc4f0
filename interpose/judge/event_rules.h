// What destroys have to do with events.
#pragma once

#include "interpose/checker/call.h"

namespace rdmacheck {

// Before a destroy of a tracked object is forwarded: unacked-events, over-acked-events, self-deadlock; and the watcher
// for blocked-destroy, if there is anything it could wait for.
void BeforeDestroyOf(Call& call, Kind kind, uintptr_t handle, Slot slot);

// Before a completion channel, context or event channel is destroyed: destroyed-under-waiter.
void JudgeWaiters(Call& call, Kind kind, uintptr_t handle, Slot slot);

// The thread is now inside a destruction verb, whether or not its object is tracked; event-destroy-race is judged at the
// end, when it is known how long the two overlapped.
void BeginDestroyActivity(Call& call, Kind kind, uintptr_t handle, Slot slot);
void EndDestroyActivity(Call& call, Slot slot);

}  // namespace rdmacheck
