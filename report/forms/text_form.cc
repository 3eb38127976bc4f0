// The text report of a set, as the processes themselves would have written it. Leaks that were seen at one close stand
// together, as they did then.
#include <algorithm>
#include <cstddef>

#include "report/cat.h"
#include "report/forms/form.h"
#include "report/text_writer.h"

namespace rdmacheck {
namespace {

// Findings of one process list that share a rule, a verb and the moment (the close's stack) are one text.
bool BelongTogether(const SetFinding& a, const SetFinding& b) {
  return a.finding.rule == b.finding.rule && a.finding.severity == b.finding.severity && a.finding.has_object &&
         b.finding.has_object && a.finding.verb == b.finding.verb &&
         a.finding.object.device == b.finding.object.device && a.finding.time == b.finding.time &&
         StackOf(a.finding, StackRole::kClosed) == StackOf(b.finding, StackRole::kClosed) &&
         StackOf(a.finding, StackRole::kHere) == StackOf(b.finding, StackRole::kHere);
}

// Colours the word after ==PID==.
std::string Coloured(const std::string& text) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string line = text.substr(at, end - at);
    at = end;
    const char* colour = nullptr;
    if (line.compare(0, 2, "==") == 0) {
      colour = line.find("==ERROR:") != std::string::npos     ? "\x1b[1;31m"
               : line.find("==WARNING:") != std::string::npos ? "\x1b[1;33m"
                                                              : "\x1b[1;36m";
    } else if (line.compare(0, 8, "SUMMARY:") == 0) {
      colour = "\x1b[1m";
    }
    if (colour == nullptr) {
      out += line;
    } else {
      Append(&out, colour, line.substr(0, line.size() - 1), "\x1b[0m\n");
    }
  }
  return out;
}

}  // namespace

std::string RenderText(const ReportSet& set, const FormOptions& options) {
  StackTable& stacks = const_cast<StackTable&>(set.stacks);  // asking a FrameSource is not const; this one looks up
  std::string text;
  for (const SetProcess& process : set.processes) {
    for (const std::string& remark : process.remarks) Append(&text, "==", process.process.pid, "==rdmacheck: ", remark, "\n");
  }
  std::vector<Finding> all;
  for (size_t i = 0; i < set.findings.size();) {
    const SetFinding& first = set.findings[i];
    std::vector<Finding> group;
    size_t next = i;
    while (next < set.findings.size() && (next == i || BelongTogether(first, set.findings[next]))) {
      group.push_back(set.findings[next].finding);
      all.push_back(set.findings[next].finding);
      ++next;
    }
    i = next;
    const IndexSet& where = first.processes;
    const int pid = where.empty() ? 0 : set.processes[where.ranges().front().first].process.pid;
    const std::string one = TextOf(group, pid, stacks);
    text += one;
    if (!one.empty() && set.processes.size() > 1) {
      Append(&text, "  in ", where.size(), where.size() == 1 ? " process: " : " processes: ", RanksInWords(set, where),
             "\n");
    }
  }
  text += SummaryLine(all);
  return options.color ? Coloured(text) : text;
}

}  // namespace rdmacheck
