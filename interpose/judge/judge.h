// What the checker thinks of each call: the rules. Called by the verbs' effects, before and after the real verb; no
// function here calls a verb, and none holds a lock when it returns.
//
// A Begin function returns whether the call may be forwarded. It may not (docs/rules.md): a dead handle to a
// destroy or to a get of events, a NULL to a create or destroy, a late ack. Everything else is forwarded, after it has been said.
#pragma once

#include "interpose/checker/call.h"

namespace rdmacheck {

// ---- creating (creates.cc)

// Looks at the arguments a new object is to be made from, and pins those that are known.
bool BeginCreate(Call& call, const Arguments& arguments, Pins* pins);
// handle 0: it failed, with errno value `error`.
void EndCreate(Call& call, Kind kind, uintptr_t handle, const Numbers& numbers, Origin origin, int error, Pins* pins);

// A create of librdmacm's, whose inner verbs report what they lack themselves: one note for one cause.
struct CmCreate {
  uint32_t shortages = 0;  // this thread's so far
};
CmCreate BeginCmCreate();
void EndFailedCmCreate(Call& call, Kind kind, const CmCreate& before, int error);

// ibv_fork_init failed with EINVAL: memory was registered before it.
void JudgeForkInitLate(Call& call, int error);

// ---- using (uses.cc)

bool BeginUse(Call& call, const Arguments& arguments);
// For a get of events: false if its channel or context is known to be destroyed or closed.
bool BeginUseOfGet(Call& call, const Argument& argument);
void EndUse(Call& call, const Arguments& arguments, int error);

// NULL given to a verb that is neither a create nor a destroy, for what is no object of the ledger (`noun`).
void SayNullUse(Call& call, const char* noun);
// The same for a create or a destroy: reported, and false, for it is not forwarded.
bool RefuseNull(Call& call, Kind kind);
bool RefuseNull(Call& call, const char* noun);

// ---- destroying (destroys.cc)

struct Destruction {
  Found found;
  bool active = false;        // EndDestroy has something to do
  bool had_children = false;  // when the call began
};
bool BeginDestroy(Call& call, Kind kind, uintptr_t handle, Destruction* destruction);
void EndDestroy(Call& call, Kind kind, Destruction* destruction, int error);


// ---- closing a context (closes.cc)

bool BeginClose(Call& call, uintptr_t context, Destruction* destruction);
void EndClose(Call& call, Destruction* destruction, int error);

// ---- events (events.cc)

bool BeginGetCqEvent(Call& call, uintptr_t channel);
void EndGetCqEvent(Call& call, uintptr_t channel, uintptr_t cq, int error);
bool BeginAckCqEvents(Call& call, uintptr_t cq, unsigned count);
bool BeginGetAsyncEvent(Call& call, uintptr_t context);
// kind kNone: an event of the port or the device.
void EndGetAsyncEvent(Call& call, uintptr_t context, Kind kind, uintptr_t handle, bool fatal, bool qp_error, int error);
bool BeginAckAsyncEvent(Call& call, Kind kind, uintptr_t handle);

// ---- particular verbs (particular.cc)

void NoteQpState(Call& call, uintptr_t qp, int state);
void NoteRereg(Call& call, uintptr_t mr, uintptr_t new_pd, const Numbers& numbers);
// The child now also hangs on that parent (a counter attached to a QP, say).
void NoteLink(Call& call, Kind child_kind, uintptr_t child, Kind parent_kind, uintptr_t parent);
// The child leaves its parent of that kind, if it had one, for this (0: none): a window bound to an MR, an id on a
// channel.
void NoteMoved(Call& call, Kind child_kind, uintptr_t child, Kind parent_kind, uintptr_t parent);
void NoteFirstDeviceList(Call& call);  // libibverbs has read its environment now


// This thread has left the verb that it was inside of without returning from it.
void ForgetCallUnderWay();

// ---- annotations (leaks.cc)

// Reports what was created after the object with this serial and is still alive; returns how many.
int JudgeGrowth(Checker& checker, Serial since);

// ---- at the end (exits.cc)

void JudgeExit(Checker& checker);

}  // namespace rdmacheck
