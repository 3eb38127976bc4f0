// Takes findings, counts them, says them. A finding's text leaves by one write(2) at once; the JSON document is replaced
// as a whole at the moments that docs/report_format.md names.
//
// What is counted is exact and bounded in memory: counts for each rule and severity, and one entry for each different
// finding, by its key (rule, severity, kind, device, verb and stacks, never the object). Beside an entry stands the
// finding itself as long as there is room; where there is none, notes give way to warnings and warnings to errors.
//
// Threads: any. The one mutex serialises texts; it is not held while a verb runs, and no lock of the ledger is held here.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "interpose/stacks/module_table.h"
#include "interpose/base/mutex.h"
#include "interpose/stacks/stack_depot.h"
#include "interpose/options/options.h"
#include "report/sentences.h"
#include "report/sink.h"
#include "report/suppressions.h"

namespace rdmacheck {

// A refused destroy of one object, as it was seen last.
struct Refusal {
  const char* verb = nullptr;  // a verb's static name
  int result = 0;
  uint32_t stack = 0;
  uint32_t when = 0;           // as Entry::born
  bool explained = true;       // an object of the ledger used it then
  uint64_t times = 1;
  uint64_t unexplained = 0;    // of these: no object of the ledger used it
};

class Reporter {
 public:
  // `fill` completes a report with what only the ledger knows: kinds, growth, what is alive, the environment.
  Reporter(const Options& options, StackDepot* depot, ModuleTable* modules, std::function<void(Report*)> fill);
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  // Says findings that share a rule and were made at once. `header`: their common sentence. Equal findings are
  // one: said ten times and counted forever. With halt_on_error and an error among them this does not return.
  void Say(std::vector<Finding> group);
  void Say(std::vector<Finding> group, const Statement& header);
  void Say(Finding finding);

  // ---- refused destroys: a note, until it is known whether a later try succeeded. Equal ones are one note, whatever
  // their object; what becomes of each object is kept by its serial.

  // True: that was all there is to do, for an equal note was said before. `like` has rule, severity, verb, kind, device
  // and stacks of a finding; the rest (describing children, sentences) costs time, and is asked for by SayRefusal.
  bool CountRefusal(const Finding& like, uint64_t serial, const Refusal& refusal);
  void SayRefusal(Finding finding, uint64_t serial, const Refusal& refusal);
  bool RefusalOf(uint64_t serial, Refusal* refusal);  // false: none is unsettled
  // The object was destroyed after all: it stays a note.
  void Resolve(uint64_t serial, const Statement& how);
  // It never was: an error, said again as `finding` (with the refusal's stacks). CountHardened as CountRefusal.
  bool CountHardened(const Finding& like, uint64_t serial);
  void Harden(Finding finding, uint64_t serial);

  // ---- a finding that more is learned of later: one for each `subject` (a lost device).
  void SayOnce(Finding finding, uint64_t subject);
  bool Again(uint64_t subject, int result);  // it happened once more. False: there is no such finding
  // For the JSON report; its text is out. False: there is no such finding.
  bool Complete(uint64_t subject, Finding more);

  void Tell(const Statement& statement) { sink_.Tell(Words(statement)); }
  void Tell(const std::string& complaint) { sink_.Tell(complaint); }  // of an option

  // What was not shown, and SUMMARY, if anything was found: once, the last words of a process. `growth`: also the stacks
  // that hold most of what is alive.
  void Summarize(bool growth = false);
  std::vector<std::string> UnmatchedSuppressions();  // of the user's file, as FILE:LINE RULE:PATTERN
  // Replaces the JSON report, if there is to be one.
  void WriteJson(bool ended, int exit_status, bool only_for_run = false);
  void WriteJsonIfBehind();  // if anything was found since it was written
  int WriteSnapshot(const std::string& path);  // a path as given, no patterns; 0, or an errno value that was reported
  void WriteNextSnapshot();                    // to a path of our choice, which is reported
  std::string NextSnapshotPath();

  std::vector<Finding> Findings();  // that are kept, as the JSON report lists them
  uint64_t errors();
  bool anything();
  Sink& sink() { return sink_; }

  static constexpr size_t kMaxKept = 10000;    // findings that are kept whole
  static constexpr size_t kMaxKnown = 100000;  // that are told apart; beyond, each is counted for itself

 private:
  struct Known {
    uint64_t order = 0;
    Rule rule{};
    Severity severity = Severity::kNote;
    bool suppressed = false;
    uint64_t times = 0, count = 0, bytes = 0, objects = 0, resolved = 0;
    uint64_t shown = 0;                // in how many texts
    std::string how;                   // the last one that was resolved
    std::unique_ptr<Finding> finding;  // null: counted only
  };
  struct Pending {
    uint64_t key;
    Refusal refusal;
  };

  void BuildLocked(Report* report) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Suppress(Finding* finding, FrameSource* frames) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts a finding; null when there are too many different ones. `fresh`: none equal was known.
  Known* AddLocked(const Finding& finding, uint64_t key, bool* fresh) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void KeepLocked(Known* known, const Finding& finding) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LetGoLocked(Known* known) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes an object out of its note, which ceases with the last one. Gives how often that note was shown if it ceased.
  uint64_t TakeOutLocked(const Pending& pending) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SayGroup(std::vector<Finding> group, const std::string& header);
  void WriteLocked(const std::vector<Finding>& group, const std::string& header, FrameSource* frames)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t RefusalKey(const Finding& like, bool explained) const;
  uint64_t CauseOf(StackId here) const;
  bool CountAgain(const std::vector<Finding>& group, const std::vector<uint64_t>& keys);
  std::string WithGrowth(std::string summary, const Report& report, FrameSource* frames);
  std::string NotShownLocked(FrameSource* frames) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AnythingNotShown();
  // Outside the mutex, after findings: halts if asked to, and writes the JSON report when it is time. `urgent`: the call
  // may not return.
  void After(bool error, bool urgent);

  const Options& options_;
  StackDepot* const depot_;
  ModuleTable* const modules_;
  const std::function<void(Report*)> fill_;
  Sink sink_;
  std::unique_ptr<Report> at_end_;  // of Summarize for WriteJson, which the one thread calls that ends the process
  Mutex mutex_;
  Suppressions suppressions_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, Known> known_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, Pending> pending_ ABSL_GUARDED_BY(mutex_);        // by serial
  std::unordered_map<uint64_t, uint64_t> subjects_ ABSL_GUARDED_BY(mutex_);      // keys
  std::unordered_set<uint64_t> kinds_kept_ ABSL_GUARDED_BY(mutex_);              // of errors: rule, verb and kind
  FindingCounts counts_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_order_ ABSL_GUARDED_BY(mutex_) = 1;
  size_t kept_[3] ABSL_GUARDED_BY(mutex_) = {0, 0, 0};                           // by weight
  size_t related_kept_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t beyond_ ABSL_GUARDED_BY(mutex_) = 0;                                  // more than kMaxKnown
  bool summarized_ ABSL_GUARDED_BY(mutex_) = false;
  bool told_names_ ABSL_GUARDED_BY(mutex_) = false;
  bool json_behind_ ABSL_GUARDED_BY(mutex_) = false, error_waits_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_json_ ABSL_GUARDED_BY(mutex_) = 0;                               // CLOCK_MONOTONIC, nanoseconds
  int snapshots_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace rdmacheck
