// The command line of rdmacheck: which calls there are, what they take, and their help. What they do is elsewhere.
#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "interpose/options/options.h"
#include "report/cat.h"
#include "report/cli/calls.h"
#include "report/cli/complete.h"
#include "report/cli/output.h"
#include "report/cli/run.h"
#include "report/cli/status.h"
#include "report/cli/sweep.h"
#include "report/cli/terminal.h"
#include "report/forms/form.h"
#include "report/version.h"

namespace rdmacheck {
namespace {

constexpr char kExitStatuses[] = "Exit status: 0 clean, 23 findings, 2 bad usage or unreadable input.";

std::string Example(const std::string& arguments) {
  return Cat("Example:\n  rdmacheck ", arguments, "\n\n", kExitStatuses);
}

// The command line as a whole; the status of the call that was made.
class CommandLine {
 public:
  CommandLine()
      : app_("Finds bugs in the use of RDMA verbs: runs programs under the checker, reads and compares its reports.",
             "rdmacheck") {
    app_.require_subcommand(1);
    app_.set_version_flag("--version", Cat("rdmacheck ", Version()));
    app_.footer(Cat(Example("run -- ./app --its-own-arguments"), "\n`rdmacheck CALL --help` has more."));
    AddRun();
    AddForms();
    AddMerge();
    AddDiff();
    AddGate();
    AddSuppress();
    AddSnapshot();
    AddTables();
  }

  int Execute(int argc, char** argv) {
    // No call that anybody types, and its words are for no parser.
    if (argc > 1 && std::string_view(argv[1]) == "complete") {
      return WriteOutput("", Complete(app_, {argv + 2, argv + argc})) ? kClean : kBadUsage;
    }
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return app_.exit(error) == 0 ? kClean : kBadUsage;
    }
    return status_;
  }

 private:
  CLI::App* Add(const std::string& name, const std::string& what, const std::string& example) {
    CLI::App* call = app_.add_subcommand(name, what);
    call->footer(Example(example));
    return call;
  }
  void Files(CLI::App* call, const char* what = "JSON reports; - is standard input") {
    call->add_option("FILE", files_, what)->required();
  }
  void Out(CLI::App* call) {
    call->add_option("-o,--output", out_, "the file to write; else standard output")->type_name("FILE");
  }

  void AddRun() {
    CLI::App* call = Add("run", "runs a program under the checker, with its children",
                         "run --json report.json -- ./app --its-own-arguments");
    call->add_flag("--strict", run_.strict, "what is open when a process ends is an error");
    call->add_flag("--require-verbs", run_.require_verbs, "fail if no process called a verb");
    call->add_flag("--no-children", run_.no_children, "watch only the program itself");
    for (const Form& form : AllForms()) {
      if (form.run_option)
        call->add_option(Cat("--", form.name), run_.outputs[form.name], form.what)->type_name("FILE");
    }
    call->add_flag("--github", run_.github, "print annotations of a GitHub workflow at the end");
    call->add_option("--suppressions", run_.suppressions, "a file of findings to hide; may be repeated")
        ->type_name("FILE")
        ->allow_extra_args(false);
    call->add_option("--baseline", run_.baseline, "a report whose errors do not count")->type_name("FILE");
    call->add_option("--write-baseline", run_.write_baseline, "write what was found as a baseline")->type_name("FILE");
    call->add_option("--option", run_.options, "an option of the library, as name=value; may be repeated")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
    AddFaults(call);
    call->add_option("COMMAND", run_.command, "the program and its arguments, after --")->required();
    call->positionals_at_end();
    call->footer(
        Cat("Example:\n  rdmacheck run --json report.json -- ./app --its-own-arguments\n\n"
            "The exit status is the program's, or 23 if it was 0 and errors were found; 127 and 126 as a shell's.\n"
            "`rdmacheck options` lists what --option takes."));
    call->callback([this] {
      for (auto it = run_.outputs.begin(); it != run_.outputs.end();) {
        it = it->second.empty() ? run_.outputs.erase(it) : std::next(it);
      }
      status_ = sweeps_ ? Sweep(run_, sweep_) : Run(run_);
    });
  }

  void AddFaults(CLI::App* call) {
    call->add_option("--fault", run_.faults,
                     "make a verb fail or wait, or take the device away: VERB:nth=3:errno=ENOMEM, delay=VERB:before:50ms, "
                     "disassociate=after:5s; may be repeated")
        ->type_name("FAULT")
        ->allow_extra_args(false);
    CLI::Option* sweep = call->add_flag("--sweep", sweeps_, "run once for each call of a verb, with that call made to fail");
    const auto of_sweep = [&](CLI::Option* option) { option->needs(sweep); };
    of_sweep(call->add_option("--sweep-limit", sweep_.most_runs, "at most so many runs")->capture_default_str()->check(CLI::Range(1, 100000)));
    of_sweep(call->add_option("--sweep-timeout", sweep_.seconds,
                              "seconds after which a run hangs; else ten times what the program takes, at least ten")
                 ->check(CLI::PositiveNumber));
    of_sweep(call->add_option("--sweep-calls", sweep_.verbs, "only verbs that match, such as ibv_create_*; may be repeated")
                 ->type_name("PATTERN")
                 ->allow_extra_args(false));
    of_sweep(call->add_option("--sweep-program", sweep_.program, "only calls of processes with such a name")->type_name("PATTERN"));
    of_sweep(call->add_option("--sweep-log", sweep_.log, "a file for the results; a sweep that was interrupted goes on with it")
                 ->type_name("FILE"));
  }

  void AddForms() {
    for (const Form& form : AllForms()) {
      CLI::App* call = Add(form.name, form.what, form.example);
      Files(call);
      Out(call);
      call->add_flag("!--no-symbols", show_.symbols, "leave frames without names as they are");
      call->add_flag("!--no-debuginfod", show_.debuginfod, "ask no debuginfod server (DEBUGINFOD_URLS)");
      call->add_option("--debug-root", show_.debug_roots, "a folder with .build-id/ or a copy of the machine's files")
          ->type_name("FOLDER")
          ->allow_extra_args(false);
      const Form* chosen = &form;
      call->callback([this, chosen] { status_ = RenderFiles(*chosen, files_, out_, show_); });
    }
  }

  void AddMerge() {
    CLI::App* call = Add("merge", "makes one report of many processes or ranks: equal findings once",
                         "merge -o all.json rank*.json");
    call->add_option("-o,--output", out_, "the file to write")->type_name("FILE")->required();
    Files(call);
    call->callback([this] { status_ = Merge(files_, out_); });
  }

  void AddDiff() {
    CLI::App* call = Add("diff", "what grew between two snapshots or runs, by creating stack",
                         "diff app.snapshot-1.json app.snapshot-2.json");
    call->add_option("OLD", old_, "the earlier report")->required();
    call->add_option("NEW", new_, "the later report")->required();
    call->callback([this] { status_ = Diff(old_, new_); });
  }

  void AddGate() {
    CLI::App* call =
        Add("gate", "fails if there are errors that a baseline lacks", "gate --baseline known.json report.json");
    call->add_option("--baseline", run_.baseline, "a report whose errors are known")->type_name("FILE");
    call->add_option("--write-baseline", run_.write_baseline, "write these reports as a baseline")->type_name("FILE");
    call->add_option("--suppressions", run_.suppressions, "a file of findings to hide; may be repeated")
        ->type_name("FILE")
        ->allow_extra_args(false);
    Files(call);
    call->callback([this] { status_ = Gate(run_.baseline, run_.write_baseline, run_.suppressions, files_); });
  }

  void AddSuppress() {
    CLI::App* call =
        Add("suppress", "writes suppressions for what a report holds", "suppress -o known.supp report.json");
    CLI::Option* files = call->add_option("FILE", files_, "JSON reports; - is standard input");
    CLI::Option* built_in = call->add_flag("--builtin", built_in_, "print those that always hold");
    built_in->excludes(files);
    Out(call);
    call->callback([this] {
      if (files_.empty() && !built_in_) throw CLI::RequiredError("FILE or --builtin");
      status_ = built_in_ ? BuiltInSuppressions() : Suppress(files_, out_);
    });
  }

  void AddSnapshot() {
    CLI::App* call =
        Add("snapshot", "asks a running program for what is alive now, and prints the file's name", "snapshot 4711");
    call->add_option("PID", pid_, "the process")->required()->check(CLI::PositiveNumber);
    call->add_option("--timeout", timeout_, "seconds to wait for the file")
        ->capture_default_str()
        ->check(CLI::Range(1, 86400));
    call->callback([this] { status_ = Snapshot(pid_, timeout_); });
  }

  void AddTables() {
    CLI::App* options = Add("options", "the options of the library, with their defaults", "options");
    options->callback([this] { status_ = WriteOutput("", HelpTable()) ? kClean : kBadUsage; });
    CLI::App* rules = Add("rules", "the rules, or what one of them means and how to fix it", "rules leak-at-close");
    rules->add_option("ID", id_, "a rule");
    rules->callback([this] { status_ = ShowRules(id_); });
  }

  CLI::App app_;
  int status_ = kBadUsage;
  RunOptions run_;
  SweepOptions sweep_;
  bool sweeps_ = false;
  ShowOptions show_;
  std::vector<std::string> files_;
  std::string out_, old_, new_, id_;
  bool built_in_ = false;
  int pid_ = 0, timeout_ = 30;
};

}  // namespace
}  // namespace rdmacheck

int main(int argc, char** argv) {
  rdmacheck::CommandLine command_line;
  return command_line.Execute(argc, argv);
}
