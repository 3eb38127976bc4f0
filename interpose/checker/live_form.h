// The forms that a running process writes: the text, and the JSON report. Each is a class and a row of MakeLiveForms. A rule
// hands a finding to the reporter and knows no form; the reporter hands it to all forms and does not know which there are.
// The forms of finished reports (HTML, SARIF …) are the command's: report/forms/form.h.
//
// Threads: one at a time (the reporter's mutex).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "interpose/options/options.h"
#include "report/finding.h"
#include "report/sink.h"

namespace rdmacheck {

// When a form that is written as a whole may be due.
enum class Moment : uint8_t {
  kFinding,        // something was found that is no error
  kError,
  kMayNotReturn,   // something was found in a call that may not return: what is not written now may never be
  kContextClosed,
  kSnapshot,       // a snapshot was written
  kAbort,          // halt_on_error
  kExit,
  kExitOfForked,   // a forked child that found nothing ends: only `rdmacheck run` wants to hear of it
};

// What a process says last.
struct LastWords {
  struct NotShown {
    Finding finding;
    uint64_t times = 0;
  };
  std::vector<NotShown> not_shown;  // the first of them
  uint64_t other_times = 0;         // of the others
  uint64_t other_findings = 0;
  uint64_t not_kept = 0;            // findings that the JSON report does not list
  FindingCounts counts;
  std::vector<Growth> growth;
};

class LiveForm {
 public:
  virtual ~LiveForm() = default;

  // Findings of one rule that were made at once, as soon as they are known. `header`: their common sentence, or empty.
  virtual void WriteFindings(const std::vector<Finding>&, const std::string& /*header*/, FrameSource&) {}
  virtual void WriteLastWords(const LastWords&, FrameSource&) {}

  // Is the whole report to be given to WriteReport now? Asked at each moment, and before the report is made: that costs.
  virtual bool Due(Moment) { return false; }
  virtual void WriteReport(const Report&, FrameSource&) {}

  // What is alive now, to a file. 0, or an errno value that was reported; kNoSnapshots: the form has none.
  static constexpr int kNoSnapshots = -1;
  virtual int MaySnapshot() { return kNoSnapshots; }
  virtual int WriteSnapshot(const std::string& /*path*/, const Report&, FrameSource&) { return kNoSnapshots; }
};

std::vector<std::unique_ptr<LiveForm>> MakeLiveForms(const Options& options, Sink* sink);

}  // namespace rdmacheck
