#include "report/cli/run.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "interpose/options/options.h"
#include "interpose/options/run_mark.h"
#include "report/cat.h"
#include "report/cli/child.h"
#include "report/cli/likeness.h"
#include "report/cli/marks.h"
#include "report/cli/output.h"
#include "report/cli/program.h"
#include "report/cli/status.h"
#include "report/cli/terminal.h"
#include "report/errno_name.h"
#include "report/forms/form.h"
#include "report/modules.h"
#include "report/reader/report_reader.h"
#include "report/suppressions.h"

namespace rdmacheck {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

std::string VariableOf(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? std::string() : value;
}

// The folder of a run, with all that is in it, for as long as this lives. A name that LD_PRELOAD can hold.
class Folder {
 public:
  Folder() {
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
  ~Folder() {
    if (path_.empty() || kept_) return;
    for (const std::string& name : Files()) unlink(Cat(path_, "/", name).c_str());
    rmdir(path_.c_str());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }
  int error() const { return error_; }
  void Keep() { kept_ = true; }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    DIR* folder = opendir(path_.c_str());
    if (folder == nullptr) return names;
    while (const dirent* entry = readdir(folder)) {
      if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) names.emplace_back(entry->d_name);
    }
    closedir(folder);
    return names;
  }

 private:
  std::string path_;
  int error_ = 0;
  bool kept_ = false;
};

std::string Absolute(const std::string& path) {
  char* real = realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string absolute = real;
  free(real);
  return absolute;
}

// What the program's processes read as their options, and what is known of them here.
struct LibraryOptions {
  std::string text;
  int exitcode = kFindings;
};

// The user's own come first; of equal ones the last holds.
bool MakeOptions(const RunOptions& run, const Folder& folder, LibraryOptions* out) {
  const std::string present = VariableOf("RDMACHECK_OPTIONS");
  // With a baseline it is this command that knows what is new, so the processes keep their own statuses.
  if (!run.baseline.empty()) out->text = "exitcode=0";
  const auto add = [out](const std::string& piece) { Append(&out->text, out->text.empty() ? "" : ":", piece); };
  if (!present.empty()) add(present);
  if (run.strict) add("strict=1");
  for (const std::string& option : run.options) {
    const size_t equals = option.find('=');
    if (equals == std::string::npos) {
      Say(Cat("--option ", option, ": write it as name=value"));
      return false;
    }
    const std::string one = QuotedOption(option.substr(0, equals), option.substr(equals + 1));
    const ParseResult alone = ParseOptions(one.c_str());
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
  return true;
}

bool MakeVariables(const RunOptions& run, const Folder& folder, const Program& program, const std::string& options,
                   Variables* out) {
  std::string places;
  std::string library = FindLibrary(&places);
  if (library.empty()) {
    Say(Cat("cannot find librdmacheck.so (looked for ", places, "); set RDMACHECK_LIBRARY to its path"));
    return false;
  }
  if (library.find_first_of(": ") != std::string::npos) {
    const std::string link = folder.path() + "/librdmacheck.so";  // LD_PRELOAD cannot quote
    if (symlink(library.c_str(), link.c_str()) != 0) {
      Say(Cat("cannot make ", link, ": ", ErrnoText(errno)));
      return false;
    }
    library = link;
  }
  const std::string preload = VariableOf("LD_PRELOAD");
  out->emplace_back("LD_PRELOAD", JoinPreload(preload, library));
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

struct Outcome {
  ReportSet set;
  std::vector<Image> images;
  bool readable = true;
  size_t processes = 0, with_verbs = 0, running = 0;
  uint64_t calls = 0, contexts = 0;
};

std::string HowItEnded(const Image& image, const ChildEnd& child, const Folder& folder, bool last_of_child) {
  if (image.ended) return {};
  if (image.replaced) return "exec";
  if (image.pid == child.pid && last_of_child) {
    return WIFSIGNALED(child.status) ? child.InWords() : std::string("_exit");
  }
  return StillRuns(image, folder.path()) ? "still running" : "a signal or _exit";
}

// Reads what the processes left; says what is wrong with it.
void Collect(const Folder& folder, const ChildEnd& child, Outcome* out) {
  out->images = ReadMarks(folder.path());
  const std::vector<std::string> files = folder.Files();
  SetBuilder builder;
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
    image.called_verbs |= has_report;
    if (!image.called_verbs) continue;
    const std::string end = HowItEnded(image, child, folder, i == last_of_child);
    out->running += end == "still running";
    if (has_report) {
      std::string error;
      SetBuilder one;
      if (!one.AddFile(Cat(folder.path(), "/", name), &error)) {
        Say(error);
        out->readable = false;
        continue;
      }
      ReportSet read = one.Take();
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

void SayOutcome(const Outcome& outcome) {
  if (outcome.with_verbs == 0) {
    Say(outcome.processes == 0 ? std::string("nothing was checked: the library was loaded into no process")
                               : Cat("nothing was checked: ", Counted(outcome.processes, "process", "processes"),
                                     ", and none called a verb"));
    return;
  }
  Say(Cat(outcome.with_verbs, " of ", Counted(outcome.processes, "process", "processes"), " called verbs: ",
          Counted(outcome.calls, "call", "calls"), ", ", Counted(outcome.contexts, "context", "contexts")));
  constexpr size_t kMostNamed = 20;
  size_t named = 0;
  for (const SetProcess& process : outcome.set.processes) {
    if (process.ended_by.empty()) continue;
    if (++named > kMostNamed) continue;
    const std::string who = Cat("process ", process.process.pid, " (", LastPart(process.process.exe), ")");
    if (process.ended_by == "still running") {
      Say(Cat(who, " is still running: what it leaves is not in this result"));
    } else {
      Say(Cat(who, " ended by ", process.ended_by, ": its end was not checked"));
    }
  }
  if (named > kMostNamed) Say(Cat("and ", named - kMostNamed, " more processes that did not end by exit"));
}

void SayComparison(const RunOptions& run, const ReportSet& set, const Comparison& comparison) {
  const Summary totals = TotalsOf(set);
  std::string text = InWords(comparison, !run.baseline.empty());
  if (totals.warnings > 0) Append(&text, ", ", Counted(totals.warnings, "warning", "warnings"));
  if (totals.notes > 0) Append(&text, ", ", Counted(totals.notes, "note", "notes"));
  if (totals.suppressed > 0) Append(&text, ", ", totals.suppressed, " suppressed");
  Say(text);
}

bool WriteOutputs(const RunOptions& run, const ReportSet& set) {
  FormOptions form_options;
  form_options.command = run.command;
  for (const std::string& word : run.command) Append(&form_options.title, form_options.title.empty() ? "" : " ", word);
  bool good = true;
  for (const auto& [name, path] : run.outputs) good &= WriteOutput(path, FormByName(name)->render(set, form_options));
  if (!run.write_baseline.empty())
    good &= WriteOutput(run.write_baseline, FormByName("json")->render(set, form_options));
  if (run.github) good &= WriteOutput("", FormByName("github")->render(set, form_options));
  return good;
}

}  // namespace

int Run(const RunOptions& run) {
  for (const auto& [name, path] : run.outputs) {
    if (!CheckOutput(path)) return kBadUsage;
  }
  if (!CheckOutput(run.write_baseline)) return kBadUsage;
  ReportSet baseline;
  std::string error;
  if (!run.baseline.empty() && !ReadReports({run.baseline}, &baseline, &error)) {
    Say(error);
    return kBadUsage;
  }
  Folder folder;
  if (folder.path().empty()) {
    Say(Cat("cannot make a folder for the reports in TMPDIR or /tmp: ", ErrnoText(folder.error())));
    return kBadUsage;
  }
  const Program program = LookAt(run.command);
  LibraryOptions library;
  Variables variables;
  if (!MakeOptions(run, folder, &library) || !MakeVariables(run, folder, program, library.text, &variables))
    return kBadUsage;
  for (const std::string& obstacle : program.obstacles) Say(obstacle);

  const ChildEnd child = RunChild(run.command, variables);
  if (child.start_error != 0) {
    Say(Cat("cannot run ", run.command.front(), ": ", ErrnoText(child.start_error)));
    return child.ExitStatus();
  }
  Outcome outcome;
  Collect(folder, child, &outcome);
  SayOutcome(outcome);
  const Comparison comparison = Compare(run.baseline.empty() ? nullptr : &baseline, outcome.set);
  if (outcome.with_verbs > 0) SayComparison(run, outcome.set, comparison);
  const bool written = WriteOutputs(run, outcome.set);
  if (outcome.running > 0) {
    folder.Keep();
    Say(Cat("reports of processes that still run will go to ", folder.path()));
  }
  if (child.ExitStatus() != 0) return child.ExitStatus();
  if (!outcome.readable || !written) return kBadUsage;
  if (run.require_verbs && outcome.with_verbs == 0) {
    Say("--require-verbs: that is a failure");
    return kFindings;
  }
  // exitcode=0 of the user's leaves the status alone here too; that of a baseline is ours.
  const int on_findings = run.baseline.empty() ? library.exitcode : kFindings;
  return comparison.clean() ? kClean : on_findings;
}

}  // namespace rdmacheck
