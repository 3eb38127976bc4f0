// Findings for people: the sanitizers' form, short. Pure functions; give them a SymbolizedFrames to have names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/finding.h"

namespace rdmacheck {

// One text for findings that were made at once and share the rule:
//
//   ==PID==ERROR: rdmacheck: RULE: one sentence
//     what it is about, then the stacks, as "    #0 function file:line (module+0xoffset)"
//
// Leaks (one finding for each kind and creating stack) get one block each under a common sentence, other rules a
// sentence each. The sentence is `header`, or made here: for a leak at close or exit out of counts by kind, for others
// the finding's message. Suppressed findings are left out; the answer is empty if none is left. At exit only the five
// largest creating stacks are shown, the rest as counts.
std::string TextOf(const std::vector<Finding>& group, int pid, FrameSource& frames, std::string_view header = {});

// "==PID==rdmacheck: double-destroy: 190 more not shown: ibv_dereg_mr at main pool.c:25, 200 times in all", for a finding
// that was made more often than it was written out.
std::string NotShownLine(const Finding& finding, uint64_t not_shown, int pid, FrameSource& frames);

// "==PID==rdmacheck: …" and a newline.
std::string ToldLine(int pid, const Statement& statement);

// Is there a stack in which no function of the program's own files has a name?
bool LacksNames(const std::vector<Finding>& group, FrameSource& frames);

// "SUMMARY: rdmacheck: 4 errors (leak-at-close 4), 1 warning (open-at-exit 1), 2 suppressed" and a newline; empty if
// nothing was found. Equal findings are one; where they were made more often, it says how often.
std::string SummaryLine(const FindingCounts& counts);
std::string SummaryLine(const std::vector<Finding>& findings);

// The pieces, for the command's other forms.
std::string TextOf(const Frame& frame);       // "function file:line (module+0xoffset)"
std::string TextOf(const ObjectRef& object);  // "qp #7 on rxe0: qpn=0x11"
std::string TextOf(const ThreadRef& thread);  // "thread 4711 (worker)"
std::string Duration(double seconds);         // "20 us", "350 ms", "2.1 s", "12 min", "3.4 h"
std::string Bytes(uint64_t count);            // "4.0 KiB"

// Frames without what stands below main() or a thread's function: the C library's start code.
std::vector<Frame> WithoutStartCode(std::vector<Frame> frames);

}  // namespace rdmacheck
