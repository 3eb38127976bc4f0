// A device that is lost as the kernel takes it away from a process (ib_uverbs_remove_one): libibverbs, the provider and the
// program make the same calls as ever, and the descriptors of the device return something else. system_calls.cc asks here.
//
// At the loss the asynchronous descriptor's number becomes an eventfd that can be read once, and that of a completion
// channel the writing end of a pipe without a reader: so poll(), select(), epoll and even raw system calls see POLLIN and
// POLLERR as of the kernel's own files, without us. Only threads that wait at that moment have to be woken.
#pragma once

#include <sys/epoll.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>

#include "interpose/fault/spec.h"

struct ibv_context;
struct ibv_comp_channel;

namespace rdmacheck::fault {

// A fault of this kind is in force: from now on contexts and channels are followed.
void ExpectDeviceLoss(const Fault& fault);

void NoteContext(ibv_context* context);
void ForgetContext(ibv_context* context);
void NoteChannel(ibv_comp_channel* channel);
void ForgetChannel(ibv_comp_channel* channel);

// The trigger of `fault` has come. `after`: the call, or null.
void LoseDevices(const Fault& fault, const char* after);

// An errno value if the device is lost and cannot be opened again; else 0.
int ErrorOfOpeningDevice(const char* name);

// ---- for system_calls.cc

struct Followed;
extern std::atomic<bool> following;  // any descriptor is
// Null: not one of a device that may be lost.
Followed* Find(int fd);

// The kernel's answer to a command on a lost device. False: it is to be made.
bool CommandFails(Followed* descriptor, unsigned long request, const void* command);
// After a destroy that the kernel would let pass on a lost device, since there is no object any more: does it?
bool DestroyPasses(Followed* descriptor, unsigned long request, const void* command, int error);
bool WriteFails(Followed* descriptor, const void* command, size_t size);
bool MapFails(Followed* descriptor);
ssize_t ReadEvent(Followed* descriptor, int fd, void* buffer, size_t size);
int ControlEpoll(Followed* descriptor, int epoll, int operation, int fd, epoll_event* event);
// What becomes readable when this descriptor's device is lost; -1: it is lost already, or it is none that is waited on.
int WakerOf(Followed* descriptor);

}  // namespace rdmacheck::fault
