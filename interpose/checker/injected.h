// What librdmafault.so does to this process: it tells here, and findings name it.
#pragma once

#include <cstddef>
#include <vector>

#include "report/finding.h"

namespace rdmacheck {

class Reporter;

// A fault was injected; `sentence`: to be said of it, or null.
void NoteInjected(Reporter& reporter, InjectedFault fault, const char* sentence);

// The faults so far, oldest first; beyond kMaxInjected only the last one.
std::vector<InjectedFault> InjectedFaults();

// Says in the finding which fault made its call fail; else which came before it: the one that a call for its object failed by,
// or the last one. Nothing if there was none.
void NameInjected(Finding* finding);

// In a forked child: those were the parent's.
void InjectedForkChild();

}  // namespace rdmacheck
