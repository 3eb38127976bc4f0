// A program under the library: the folder that its processes report into, its environment, and what they left.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/cli/child.h"
#include "report/cli/marks.h"
#include "report/cli/program.h"
#include "report/cli/run.h"
#include "report/cli/status.h"
#include "report/reader/report_set.h"
#include "report/suppressions.h"

namespace rdmacheck {

using Variables = std::vector<std::pair<std::string, std::string>>;

// The folder of a run, with all that is in it, for as long as this lives. A name that LD_PRELOAD can hold.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }
  int error() const { return error_; }
  void Keep() { kept_ = true; }
  std::vector<std::string> Files() const;

 private:
  std::string path_;
  int error_ = 0;
  bool kept_ = false;
};

// What the program's processes read as their options, and what is known of them here.
struct LibraryOptions {
  std::string text;
  int exitcode = kFindings;
  Suppressions suppressions;  // those that hold for the processes
};

// False: it was said why.
bool MakeOptions(const RunOptions& run, const Folder& folder, LibraryOptions* out);
bool MakeVariables(const RunOptions& run, const Folder& folder, const Program& program, const std::string& options,
                   Variables* out);

struct Outcome {
  ReportSet set;
  ReportSet left;  // of `set` what no process could say itself: the findings of those that did not end by exit()
  std::vector<Image> images;
  bool readable = true;
  size_t processes = 0, with_verbs = 0, running = 0;
  uint64_t calls = 0, contexts = 0;
};

// Reads what the processes left; says what is wrong with it. `suppressions` count their matches.
void Collect(const Folder& folder, const ChildEnd& child, Suppressions* suppressions, Outcome* out);

}  // namespace rdmacheck
