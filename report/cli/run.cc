#include "report/cli/run.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <utility>

#include "report/cat.h"
#include "report/cli/likeness.h"
#include "report/cli/output.h"
#include "report/cli/terminal.h"
#include "report/cli/watched.h"
#include "report/errno_name.h"
#include "report/forms/form.h"
#include "report/modules.h"
#include "report/reader/report_reader.h"
#include "report/sentences.h"

namespace rdmacheck {
namespace {

// "ended by signal 9 (SIGKILL) with 12 qp open", where a journal says so.
std::string EndOf(const SetProcess& process) {
  const std::string end = Cat("ended by ", process.ended_by);
  if (process.remarks.empty()) return Cat(end, ": its end was not checked");
  KindCounts open;
  for (const KindCount& kind : process.summary.kinds) {
    if (kind.alive > 0) open.Add(kind.kind, kind.alive);
  }
  open.SortByCount();
  return open.total() == 0 ? Cat(end, " with nothing open") : Cat(end, " with ", TextOf(open), " open");
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
      Say(Cat(who, " ", EndOf(process)));
    }
  }
  if (named > kMostNamed) Say(Cat("and ", named - kMostNamed, " more processes that did not end by exit"));
}

// The text that processes would have written themselves, had they ended by exit(), where the others wrote theirs.
void ShowWhatWasLeft(const ReportSet& left) {
  constexpr size_t kMostShown = 100;
  if (left.findings.empty()) return;
  const ReportSet shown = Subset(left, FirstFindings(left, kMostShown));
  const size_t more = left.findings.size() - shown.findings.size();
  FormOptions form_options;
  form_options.color = WantsColour(STDERR_FILENO);
  std::string text = FormByName("show")->render(shown, form_options);
  if (more > 0) Append(&text, "and ", Counted(more, "more finding", "more findings"), ", which --json writes\n");
  fputs(text.c_str(), stderr);
}

// Such a process may make its first call later, so that its reports need their folder.
void SayWhatRuns(const Outcome& outcome, Folder* folder) {
  if (outcome.running == 0) return;
  folder->Keep();
  size_t silent = outcome.running;
  for (const Image& image : outcome.images) silent -= image.running && image.called_verbs;
  std::string text = Cat("reports of processes that still run will go to ", folder->path());
  if (silent > 0) Append(&text, "; ", silent, silent == 1 ? " of them has" : " of them have", " called no verb so far");
  Say(text);
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
  Collect(folder, child, &library.suppressions, &outcome);
  ShowWhatWasLeft(outcome.left);
  SayOutcome(outcome);
  const Comparison comparison = Compare(run.baseline.empty() ? nullptr : &baseline, outcome.set);
  if (outcome.with_verbs > 0) SayComparison(run, outcome.set, comparison);
  const bool written = WriteOutputs(run, outcome.set);
  SayWhatRuns(outcome, &folder);
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
