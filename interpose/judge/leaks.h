// Findings about what is still there when it should not be: at a close, at exit, after the device went.
#pragma once

#include <string>
#include <vector>

#include "interpose/judge/objects.h"

namespace rdmacheck {

// One finding for each kind and creating stack. `closed`: the stack of the close, or 0.
std::vector<Finding> LeakFindings(Checker& checker, Rule rule, Severity severity, const std::vector<Record>& records,
                                  const Record* context, const std::string& verb, uint32_t closed_stack);

// "4 objects (1 qp, 1 cq, 1 mr, 1 pd)".
std::string CountsInWords(const std::vector<Record>& records);

// What is said of a refusal that no object of the ledger explains: at the refusal and at the end, as no reason is invented.
std::vector<std::string> UnexplainedHints(Checker& checker, Kind kind);

// Refused destroys among these objects that were never made good: their notes become errors.
void HardenRefused(Checker& checker, const std::vector<Record>& records, const std::string& when);

}  // namespace rdmacheck
