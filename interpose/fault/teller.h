// What this library says: to the checker if it is in the process, which keeps it for its report, else to standard error.
#pragma once

#include <cstdint>
#include <string>

#include "interpose/fault/call_stack.h"

namespace rdmacheck::fault {

void Tell(const std::string& sentence);

struct Injected {
  const char* fault;  // as it was written
  const char* verb;   // the call; for a lost device what it was lost after
  uint64_t number;    // of the call among those of the fault; 0: no call
  int error;          // that it is made to fail with; 0: a device was lost
  bool shown;         // not one too many of its kind
  const CallStack* stack;
  const char* device;  // that was lost, or null
};
void TellFault(const Injected& injected);

}  // namespace rdmacheck::fault
