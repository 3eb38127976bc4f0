// Reads JSON reports, of one process or of many, and journals (journal_reader.h) into one ReportSet. What is wrong with a file is said as
// "FILE:OFFSET: sentence"; a byte's offset, since hostile files are one line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "report/reader/report_set.h"

namespace rdmacheck {

class SetBuilder {
 public:
  // Adds a report. False: *error says why, and the set is not to be used any more.
  bool AddFile(const std::string& path, std::string* error);
  // Of processes whose journals are added from now on: when they were killed, in seconds since the epoch; 0: not known.
  void SetKilled(double when) { killed_ = when; }
  bool AddText(std::string_view text, const std::string& name, std::string* error);
  // Adds all of another set; its findings come after those that are here.
  void AddSet(ReportSet&& other);
  ReportSet Take() { return std::move(set_); }

 private:
  bool AddJournal(std::string_view bytes, const std::string& name, std::string* error);
  void AddProcess(SetProcess process);
  void AddFindings(std::vector<SetFinding> findings, uint32_t shift);
  void AddAlive(std::vector<SetAlive> alive, uint32_t shift);

  double killed_ = 0;
  ReportSet set_;
  std::unordered_map<std::string, size_t> findings_, alive_;  // by what makes two of them equal
  std::unordered_map<std::string, StackId> stacks_by_text_;   // as they stand in a file: most stacks repeat
};

// Called with how much of the work is done, 0 to 1, from any thread, one call at a time.
using Progress = std::function<void(double)>;

// All the files, in this order whatever the number of threads; one file a thread is in memory at a time.
bool ReadReports(const std::vector<std::string>& paths, ReportSet* set, std::string* error,
                 const Progress& progress = nullptr);

// The whole file, or a sentence; of a journal only what it uses. Larger than a gigabyte is refused.
bool ReadWholeFile(const std::string& path, std::string* text, std::string* error);

// The names in a folder, without . and .. ; none if it cannot be read.
std::vector<std::string> FilesIn(const std::string& folder);

// Calls f with each stack number of a finding, by pointer.
template <class F>
void ForEachStack(Finding* finding, F f) {
  f(&finding->object.created);
  for (Related& related : finding->related) f(&related.object.created);
  for (StackRef& stack : finding->stacks) f(&stack.id);
  for (Group& group : finding->groups) {
    f(&group.stack);
    f(&group.oldest.created);
  }
  f(&finding->injected.stack);
}

}  // namespace rdmacheck
