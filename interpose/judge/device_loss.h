// A device that went: its objects are a class of their own, told once a device, and never also as leaks.
#pragma once

#include "interpose/checker/call.h"
#include "interpose/ledger/ledger.h"

namespace rdmacheck {

// DEVICE_FATAL was read, or the kernel returned EIO: what lives on this context lives without a device.
void NoteDeviceLost(Checker& checker, Slot context);
// A destroy returned EIO: without RDMAV_ALLOW_DISASSOC_DESTROY the object's user memory stays forever.
// `error` is that, or the EBUSY of what such an object holds.
void NoteLostDestroy(Call& call, const Record& record, int error);
bool HeldByLost(Checker& checker, const Record& record);
void SayAliveAfterLoss(Checker& checker, const Record& context, const std::vector<Record>& left, const std::string& verb,
                       uint32_t here);
void SayLostAtExit(Checker& checker, const std::vector<Record>& left);

}  // namespace rdmacheck
