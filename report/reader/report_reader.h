// Reads JSON reports, of one process or of many, into one ReportSet. What is wrong with a file is said as
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
  bool AddText(std::string_view text, const std::string& name, std::string* error);
  // Adds all of another set; its findings come after those that are here.
  void AddSet(ReportSet&& other);
  ReportSet Take() { return std::move(set_); }

 private:
  void AddProcess(SetProcess process);
  void AddFindings(std::vector<SetFinding> findings, uint32_t shift);
  void AddAlive(std::vector<SetAlive> alive, uint32_t shift);

  ReportSet set_;
  std::unordered_map<std::string, size_t> findings_, alive_;  // by what makes two of them equal
  std::unordered_map<std::string, StackId> stacks_by_text_;   // as they stand in a file: most stacks repeat
};

// Called with how much of the work is done, 0 to 1, from any thread, one call at a time.
using Progress = std::function<void(double)>;

// All the files, in this order whatever the number of threads; one file a thread is in memory at a time.
bool ReadReports(const std::vector<std::string>& paths, ReportSet* set, std::string* error,
                 const Progress& progress = nullptr);

// The whole file, or a sentence. Larger than a gigabyte is refused.
bool ReadWholeFile(const std::string& path, std::string* text, std::string* error);

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
