#include "report/cli/watched.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "interpose/fault/spec.h"
#include "interpose/options/options.h"
#include "interpose/options/run_mark.h"
#include "report/cat.h"
#include "report/cli/likeness.h"
#include "report/cli/names.h"
#include "report/cli/output.h"
#include "report/cli/terminal.h"
#include "report/errno_name.h"
#include "report/modules.h"
#include "report/reader/report_reader.h"
#include "report/sentences.h"

namespace rdmacheck {
namespace {

double SecondsNow() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

std::string VariableOf(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? std::string() : value;
}

std::string Absolute(const std::string& path) {
  char* real = realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string absolute = real;
  free(real);
  return absolute;
}

}  // namespace

Folder::Folder() {
  std::string base = VariableOf("TMPDIR");
  if (base.empty() || base[0] != '/' || base.find_first_of(": ") != std::string::npos) base = "/tmp";
  for (const std::string& each : {base, std::string("/tmp"), std::string("/dev/shm")}) {
    std::string name = each + "/rdmacheck-run-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) {
      path_ = name;
      return;
    }
    if (error_ == 0) error_ = errno;
  }
}

Folder::~Folder() {
  if (path_.empty() || kept_) return;
  for (const std::string& name : Files()) unlink(Cat(path_, "/", name).c_str());
  rmdir(path_.c_str());
}

std::vector<std::string> Folder::Files() const { return FilesIn(path_); }

// The user's own come first; of equal ones the last holds.
bool MakeOptions(const RunOptions& run, const Folder& folder, LibraryOptions* out) {
  const std::string present = VariableOf("RDMACHECK_OPTIONS");
  // With a baseline it is this command that knows what is new, so the processes keep their own statuses.
  out->text = "verify=kernel";
  if (!run.baseline.empty()) Append(&out->text, ":exitcode=0");
  const auto add = [out](const std::string& piece) { Append(&out->text, out->text.empty() ? "" : ":", piece); };
  if (!present.empty()) add(present);
  if (run.strict) add("strict=1");
  for (const std::string& option : run.options) {
    const size_t equals = option.find('=');
    if (equals == std::string::npos) {
      Say(Cat("--option ", option, ": write it as name=value"));
      return false;
    }
    std::string one = QuotedOption(option.substr(0, equals), option.substr(equals + 1));
    ParseResult alone = ParseOptions(one.c_str());
    // A colon belongs to a path. Where the option takes no path it stands between options, as in RDMACHECK_OPTIONS.
    if (!alone.complaints.empty() && option.find(':') != std::string::npos) {
      one = option;
      alone = ParseOptions(one.c_str());
    }
    if (!alone.complaints.empty()) {
      Say(Cat("--option ", option, ": ", alone.complaints.front()));
      return false;
    }
    add(one);
  }
  ParseResult parsed = ParseOptions(out->text.c_str());
  std::vector<std::string> files = run.suppressions;
  if (!files.empty() && !parsed.options.suppressions.empty()) files.insert(files.begin(), parsed.options.suppressions);
  std::string all;
  for (const std::string& file : files) {
    std::string text, error;
    if (!ReadWholeFile(file, &text, &error)) {
      Say(error);
      return false;
    }
    std::vector<std::string> complaints;
    Suppressions::Parse(text, file, &complaints);
    for (const std::string& complaint : complaints) Say(complaint);
    if (!complaints.empty()) return false;
    Append(&all, text, "\n");
  }
  if (files.size() == 1) {
    add(QuotedOption("suppressions", Absolute(files.front())));
  } else if (files.size() > 1) {
    const std::string joined = folder.path() + "/suppressions";
    if (!WriteOutput(joined, all)) return false;
    add(QuotedOption("suppressions", joined));
  }
  parsed = ParseOptions(out->text.c_str());
  out->exitcode = parsed.options.exitcode;
  const std::string& file = parsed.options.suppressions;
  std::string text, error;
  std::vector<std::string> complaints;  // the processes say them
  if (!file.empty() && ReadWholeFile(file, &text, &error)) out->suppressions = Suppressions::Parse(text, file, &complaints);
  return true;
}

namespace {

// A library of ours as LD_PRELOAD can hold its path, which cannot quote. Empty: it was said why not.
std::string Preloadable(const char* name, const char* variable, const Folder& folder) {
  std::string places;
  const std::string library = FindInstalled(name, variable, &places);
  if (library.empty()) Say(Cat("cannot find ", name, " (looked for ", places, "); set ", variable, " to its path"));
  if (library.find_first_of(": ") == std::string::npos) return library;
  const std::string link = Cat(folder.path(), "/", LastPart(library));
  if (symlink(library.c_str(), link.c_str()) == 0) return link;
  Say(Cat("cannot make ", link, ": ", ErrnoText(errno)));
  return {};
}

// All that is to go wrong, as RDMACHECK_FAULTS has it. False: a part of it makes no sense, and it was said which.
bool MakeFaults(const RunOptions& run, std::string* out) {
  for (const std::string& text : run.faults) {
    const fault::Spec spec = fault::ParseSpec(text.c_str());
    for (const fault::Complaint& complaint : spec.complaints) {
      Say(fault::InWords(Cat("--fault ", text), complaint));
    }
    if (!spec.complaints.empty()) return false;
    if (spec.faults.empty()) {
      Say("--fault: nothing is said; write VERB:nth=3, delay=VERB:before:50ms or disassociate=after:5s");
      return false;
    }
    Append(out, out->empty() ? "" : " ", text);
  }
  return true;
}

}  // namespace

bool MakeVariables(const RunOptions& run, const Folder& folder, const Program& program, const std::string& options,
                   Variables* out) {
  const std::string library = Preloadable("librdmacheck.so", "RDMACHECK_LIBRARY", folder);
  if (library.empty()) return false;
  const std::string preload = VariableOf("LD_PRELOAD");
  std::string behind = preload;
  std::string faults = VariableOf("RDMACHECK_FAULTS");
  if (!MakeFaults(run, &faults)) return false;
  if (!faults.empty()) {
    const std::string fault_library = Preloadable("librdmafault.so", "RDMACHECK_FAULT_LIBRARY", folder);
    if (fault_library.empty()) return false;
    behind = JoinPreload(preload, fault_library);
    out->emplace_back("RDMACHECK_FAULTS", faults);
  }
  // The checker sees what the fault library makes of a call, as the program does: it stands before it.
  out->emplace_back("LD_PRELOAD", JoinPreload(behind, library));
  out->emplace_back(kRunVariable, folder.path());
  if (run.no_children) out->emplace_back(kRunAloneVariable, preload);
  if (!options.empty()) out->emplace_back("RDMACHECK_OPTIONS", options);
  // AddressSanitizer refuses to start behind another library; it does not need to be the first one for our sake.
  const std::string asan = VariableOf("ASAN_OPTIONS");
  if (program.wants_sanitizer_first && asan.find("verify_asan_link_order") == std::string::npos) {
    out->emplace_back("ASAN_OPTIONS", Cat(asan, asan.empty() ? "" : ":", "verify_asan_link_order=0"));
  }
  return true;
}

namespace {

std::string HowItEnded(const Image& image, const ChildEnd& child, bool last_of_child) {
  if (image.ended) return {};
  if (image.replaced) return "exec";
  if (image.pid == child.pid && last_of_child) {
    return WIFSIGNALED(child.status) ? child.InWords() : std::string("_exit");
  }
  return image.running ? "still running" : "a signal or _exit";
}

// Of what a journal has the findings that the process had not reported before it ended.
void DropReported(const ReportSet& report, ReportSet* journal) {
  const auto known = [&report](const SetFinding& one) {
    return std::any_of(report.findings.begin(), report.findings.end(), [&one](const SetFinding& before) {
      return before.finding.rule == one.finding.rule && before.finding.object.serial == one.finding.object.serial;
    });
  };
  std::vector<SetFinding>& later = journal->findings;
  later.erase(std::remove_if(later.begin(), later.end(), known), later.end());
}

// A process that left a report before it ended otherwise has the report's findings and what its journal says of the end.
ReportSet Joined(ReportSet&& report, ReportSet&& journal) {
  if (report.processes.size() != 1 || journal.processes.size() != 1) return std::move(report);
  report.alive.clear();
  SetBuilder both;
  both.AddSet(std::move(report));
  both.AddSet(std::move(journal));
  ReportSet joined = both.Take();
  SetProcess& process = joined.processes[0];
  SetProcess& end = joined.processes[1];
  process.process.written = end.process.written;
  process.summary.kinds = std::move(end.summary.kinds);
  process.summary.calls = end.summary.calls;
  process.summary.warnings += end.summary.warnings;
  process.summary.errors += end.summary.errors;
  process.remarks = std::move(end.remarks);
  process.timeline.insert(process.timeline.end(), end.timeline.begin(), end.timeline.end());
  joined.processes.pop_back();
  const auto of_one = [](IndexSet* processes) {
    *processes = IndexSet();
    processes->Add(0);
  };
  for (SetFinding& one : joined.findings) of_one(&one.processes);
  for (SetAlive& one : joined.alive) of_one(&one.processes);
  return joined;
}

// What a process left that did not end by exit(), as its journal has it. False: there is none that can be read.
// `killed`: when, if that is known.
bool ReadJournalOf(const Image& image, const std::string& end, double killed, Suppressions* suppressions, ReportSet* set) {
  if (end.empty() || end == "still running" || image.journal.empty() || access(image.journal.c_str(), F_OK) != 0) return false;
  std::string error;
  SetBuilder builder;
  builder.SetKilled(killed);
  if (!builder.AddFile(image.journal, &error)) {
    Say(error);
    return false;
  }
  *set = builder.Take();
  if (set->processes.size() != 1 || set->processes[0].process.pid != image.pid) return false;  // another's by now
  for (SetFinding& one : set->findings) one.finding.hints.push_back(Words(Is<Sentence::kEndedBy>(end)));
  FindNames({}, set);
  SuppressIn(set, suppressions);
  return true;
}

}  // namespace

void Collect(const Folder& folder, const ChildEnd& child, Suppressions* suppressions, Outcome* out) {
  out->images = SettledMarks(folder.path(), &out->running);
  const std::vector<std::string> files = folder.Files();
  SetBuilder builder, left;
  size_t last_of_child = out->images.size();
  for (size_t i = 0; i < out->images.size(); ++i) {
    if (out->images[i].pid == child.pid) last_of_child = i;
  }
  std::vector<std::string> ends;
  std::vector<std::string> names;
  std::vector<SetProcess> silent;
  std::vector<pid_t> pids;
  for (size_t i = 0; i < out->images.size(); ++i) {
    Image& image = out->images[i];
    const std::string name = Cat(image.pid, "-", image.loaded, ".json");
    const bool has_report = std::find(files.begin(), files.end(), name) != files.end();
    if (std::find(pids.begin(), pids.end(), image.pid) == pids.end()) pids.push_back(image.pid);
    image.called_verbs |= has_report || !image.journal.empty();
    if (!image.called_verbs) continue;
    const std::string end = HowItEnded(image, child, i == last_of_child);
    ReportSet journal;
    // The command's own process has ended just now.
    const bool killed_now = i == last_of_child && image.pid == child.pid && WIFSIGNALED(child.status);
    const bool has_journal = ReadJournalOf(image, end, killed_now ? SecondsNow() : 0, suppressions, &journal);
    if (has_report || has_journal) {
      std::string error;
      SetBuilder one;
      if (has_report && !one.AddFile(Cat(folder.path(), "/", name), &error)) {
        Say(error);
        out->readable = false;
        continue;
      }
      ReportSet read = one.Take();
      if (has_journal) {
        if (has_report) DropReported(read, &journal);
        left.AddSet(Subset(journal, FirstFindings(journal, SIZE_MAX)));
        read = has_report ? Joined(std::move(read), std::move(journal)) : std::move(journal);
      }
      for (SetProcess& process : read.processes) {
        process.file = name;
        process.ended_by = end;
      }
      builder.AddSet(std::move(read));
    } else {
      SetProcess process;
      process.process.pid = image.pid;
      process.process.exe = image.program;
      process.ended_by = end;
      silent.push_back(std::move(process));
    }
  }
  out->set = builder.Take();
  out->left = left.Take();
  for (SetProcess& process : silent) out->set.processes.push_back(std::move(process));
  for (SetProcess& process : out->set.processes) {
    if (process.process.pid == child.pid && process.ended_by == "_exit") {
      process.process.exit_status = WEXITSTATUS(child.status);
    }
    out->calls += process.summary.calls;
    for (const KindCount& kind : process.summary.kinds) {
      if (kind.kind == "context") out->contexts += kind.created;
    }
  }
  out->processes = pids.size();
  for (const pid_t pid : pids) {
    out->with_verbs += std::any_of(out->images.begin(), out->images.end(),
                                   [pid](const Image& image) { return image.pid == pid && image.called_verbs; });
  }
}

}  // namespace rdmacheck
