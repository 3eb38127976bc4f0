// Takes findings, counts them, hands them to the forms. A finding's text leaves by one write(2) at once; the JSON report is
// replaced as a whole at the moments that docs/report_format.md names.
//
// What was found is counted and kept by finding_store.h; what writes it is live_form.h; refused destroys are in refusals.cc.
//
// Threads: any. The one mutex serialises texts; it is not held while a verb runs, and no lock of the ledger is held here.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "interpose/base/mutex.h"
#include "interpose/checker/finding_store.h"
#include "interpose/checker/live_form.h"
#include "interpose/stacks/module_table.h"
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
  void Settle(uint64_t serial, const Statement& how);
  // It never was: an error, said again as `finding` (with the refusal's stacks). CountEscalated as CountRefusal.
  bool CountEscalated(const Finding& like, uint64_t serial);
  void Escalate(Finding finding, uint64_t serial);

  // ---- a finding that more is learned of later: one for each `subject` (a lost device).
  void SayOnce(Finding finding, uint64_t subject);
  bool NoteRepeat(uint64_t subject, int result);  // it happened once more. False: there is no such finding
  // For the JSON report; its text is out. False: there is no such finding.
  bool AddDetail(uint64_t subject, Finding more);

  void Tell(const Statement& statement) { sink_.Tell(Words(statement)); }
  void Tell(const std::string& complaint) { sink_.Tell(complaint); }  // of an option

  // What was not shown, and SUMMARY, if anything was found: once, the last words of a process. `growth`: also the stacks
  // that hold most of what is alive.
  void Summarize(bool growth = false);
  std::vector<std::string> UnmatchedSuppressions();  // of the user's file, as FILE:LINE RULE:PATTERN
  // Gives the whole report to the forms that are due at this moment. `exit_status`: -1, the process has none yet.
  void WriteReport(Moment moment, int exit_status = -1);
  int WriteSnapshot(const std::string& path);  // a path as given, no patterns; 0, or an errno value that was reported
  void WriteNextSnapshot();                    // to a path of our choice, which is reported
  std::string NextSnapshotPath();

  std::vector<Finding> Findings();  // that are kept, as the JSON report lists them
  uint64_t errors();
  bool anything();
  Sink& sink() { return sink_; }

  static constexpr uint64_t kTextsOfEqualFindings = 10;

 private:
  struct Pending {
    uint64_t key;
    Refusal refusal;
  };

  void BuildLocked(Report* report) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Suppress(Finding* finding, FrameSource* frames) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SayGroup(std::vector<Finding> group, const std::string& header);
  void WriteLocked(const std::vector<Finding>& group, const std::string& header, FrameSource* frames)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t RefusalKey(const Finding& like, bool explained) const;
  uint64_t CauseOf(StackId here) const;
  bool CountAgain(const std::vector<Finding>& group, const std::vector<uint64_t>& keys);
  LastWords LastWordsLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void KeepForTheEndLocked(bool filled, Report report) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool DueLocked(Moment moment, std::vector<LiveForm*>* due) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Outside the mutex, after findings: halts if asked to, and writes what is due. `urgent`: the call may not return.
  void After(bool error, bool urgent);

  const Options& options_;
  StackDepot* const depot_;
  ModuleTable* const modules_;
  const std::function<void(Report*)> fill_;
  Sink sink_;
  std::unique_ptr<Report> at_end_;  // of Summarize for WriteReport, which the one thread calls that ends the process
  Mutex mutex_;
  std::vector<std::unique_ptr<LiveForm>> forms_ ABSL_GUARDED_BY(mutex_);
  FindingStore findings_ ABSL_GUARDED_BY(mutex_);
  Suppressions suppressions_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, Pending> pending_ ABSL_GUARDED_BY(mutex_);        // by serial
  std::unordered_map<uint64_t, uint64_t> subjects_ ABSL_GUARDED_BY(mutex_);      // keys
  bool summarized_ ABSL_GUARDED_BY(mutex_) = false;
  int snapshots_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace rdmacheck
