// Takes findings, counts them, says them. A finding's text leaves by one write(2) at once; the JSON document is replaced
// as a whole at the moments the contract names.
//
// Threads: any. The one mutex serialises texts; it is not held while a verb runs, and no lock of the ledger is held here.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "interpose/ledger/module_table.h"
#include "interpose/ledger/mutex.h"
#include "interpose/ledger/stack_depot.h"
#include "interpose/runtime/options.h"
#include "report/finding.h"
#include "report/sink.h"
#include "report/suppressions.h"

namespace rdmacheck {

class Reporter {
 public:
  // `fill` completes a report with what only the ledger knows: kinds, growth, what is alive, the environment.
  Reporter(const Options& options, StackDepot* depot, ModuleTable* modules, std::function<void(Report*)> fill);
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  // Says findings that share a rule and were made at once. `header`: the common sentence, or empty. Equal findings
  // (rule, object kind and stacks) are said ten times and counted for ever. With halt_on_error and an error among them
  // this does not return.
  void Say(std::vector<Finding> group, const std::string& header = std::string());
  void Say(Finding finding);

  // A finding whose severity is settled later (busy-destroy): one for each object, by its serial.
  void SayPending(Finding finding, uint64_t serial);
  // It was refused once more. False: there is no such finding.
  bool Again(uint64_t serial, int result);
  // What became known of it later, for the JSON report; its text is out. False: there is no such finding.
  bool Complete(uint64_t serial, std::vector<Related> related, const std::string& hint);
  // The object went after all: it stays a note.
  void Resolve(uint64_t serial, const std::string& how);
  // It never went: the finding becomes an error, and is said again with these children.
  void Harden(uint64_t serial, Finding finding);

  void Tell(const std::string& sentence) { sink_.Tell(sentence); }

  // SUMMARY, if anything was found since the last one. `growth`: also the stacks that hold most of what is alive.
  void Summarize(bool growth = false);
  std::vector<std::string> UnmatchedSuppressions();  // of the user's file, as FILE:LINE RULE:PATTERN
  // Replaces the JSON report, if there is to be one.
  void WriteJson(bool ended, int exit_status);
  int WriteSnapshot(const std::string& path);  // a path as given, no patterns; 0, or an errno value that was told
  std::string NextSnapshotPath();

  uint64_t errors();
  bool anything();
  Sink& sink() { return sink_; }

 private:
  struct Totals {
    uint64_t said = 0;
  };
  Report BuildLocked(bool ended, int exit_status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Suppress(Finding* finding, FrameSource* frames) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool CountAgain(const std::vector<Finding>& group);
  std::string WithGrowthLocked(std::string summary, FrameSource* frames) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t ErrorsLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void HaltIfAsked(bool error);

  const Options& options_;
  StackDepot* const depot_;
  ModuleTable* const modules_;
  const std::function<void(Report*)> fill_;
  Sink sink_;
  Mutex mutex_;
  Suppressions suppressions_ ABSL_GUARDED_BY(mutex_);
  std::vector<Finding> findings_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, size_t> by_key_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, size_t> pending_ ABSL_GUARDED_BY(mutex_);
  uint64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string last_summary_ ABSL_GUARDED_BY(mutex_);
  int snapshots_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace rdmacheck
