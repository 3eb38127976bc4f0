// Findings about what is still there when it should not be: at a close, at exit, after the device went.
#pragma once

#include <string>
#include <vector>

#include "interpose/judge/objects.h"

namespace rdmacheck {

// One finding for each kind and creating stack. `closed`: the stack of the close, or 0.
std::vector<Finding> LeakFindings(Checker& checker, Rule rule, Severity severity, const std::vector<Record>& records,
                                  const Record* context, const std::string& verb, uint32_t closed_stack);

// What is reported of a refusal that no object of the ledger explains: at the refusal and at the end, as no reason is
// invented.
void AddUnexplained(Checker& checker, Finding* finding, Kind kind);

// Refused destroys among these objects that were never made good: their notes become errors.
// `when`: kNeverRetriedClosed or kNeverRetriedEnded.
void EscalateRefused(Checker& checker, const std::vector<Record>& records, Sentence when);

}  // namespace rdmacheck
