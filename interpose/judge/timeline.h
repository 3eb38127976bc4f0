// The last calls of each thread, for findings about events: kept by the thread itself in a ring, so that no call pays
// for a lock. Put together, for one context, only when a finding wants it.
#pragma once

#include <vector>

#include "interpose/checker/call.h"
#include "report/finding.h"

namespace rdmacheck {

inline constexpr size_t kTimelineEntries = 256;

// begin and end: CLOCK_MONOTONIC nanoseconds (0: now, coarse). serial 0: the object is not known.
void Remember(ThreadRecord* self, const char* what, Kind kind, uint32_t serial, uint64_t begin, uint64_t end, int result);

// The last 256 of that context, oldest first, with the calls that are in progress now; all contexts for slot 0.
std::vector<TimelineEntry> TimelineOf(Checker& checker, Slot context);

}  // namespace rdmacheck
