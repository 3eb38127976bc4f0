#include "report/cli/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "interpose/fault/verb_names.h"
#include "report/cat.h"
#include "report/cli/likeness.h"
#include "report/cli/output.h"
#include "report/cli/terminal.h"
#include "report/cli/watched.h"
#include "report/errno_name.h"
#include "report/forms/places.h"
#include "report/modules.h"
#include "report/printable.h"
#include "report/reader/report_reader.h"
#include "report/suppressions.h"
#include "report/text_writer.h"

namespace rdmacheck {
namespace {

using Json = nlohmann::ordered_json;

// A call that is to fail.
struct Target {
  std::string verb;
  uint64_t nth = 0;
  std::string program;  // the process that makes it
  bool operator<(const Target& other) const {
    return std::tie(verb, nth, program) < std::tie(other.verb, other.nth, other.program);
  }
  std::string Fault() const {
    return Cat(verb, ":nth=", nth, ":errno=", ErrnoName(Error()), ":program=", program);
  }
  int Error() const { return fault::UsualError(Deed()); }
  fault::Deed Deed() const {
    const fault::VerbName* const known = fault::FindVerb(verb);
    return known == nullptr ? fault::Deed::kUses : known->deed;
  }
};

enum class End { kPassed, kLeaks, kHangs, kCrashes, kNotReached, kNotChecked };
constexpr std::pair<End, const char*> kEnds[] = {{End::kPassed, "passed"},
                                                 {End::kLeaks, "leaks"},
                                                 {End::kHangs, "hangs"},
                                                 {End::kCrashes, "crashes"},
                                                 {End::kNotReached, "not reached"},
                                                 {End::kNotChecked, "not checked"}};
const char* NameOf(End end) {
  for (const auto& [value, name] : kEnds) {
    if (value == end) return name;
  }
  return "";
}

struct Result {
  Target target;
  End end = End::kPassed;
  std::string place;                    // where the call is made
  std::string status;                   // how the program ended
  std::vector<std::string> errors;      // that the program does not make by itself
  std::vector<std::string> left_open;   // at exit, likewise; no errors
  bool IsBad() const { return end == End::kLeaks || end == End::kHangs || end == End::kCrashes; }
};

// ---- what there is to fail

struct Calls {
  std::vector<Target> targets;
  uint64_t all = 0, alike = 0, beyond = 0;
};

std::string_view TakeWord(std::string_view* line) {
  const size_t end = std::min(line->find(' '), line->size());
  const std::string_view word = line->substr(0, end);
  line->remove_prefix(std::min(end + 1, line->size()));
  return word;
}

bool IsWanted(const SweepOptions& sweep, const Target& target) {
  const fault::VerbName* const known = fault::FindVerb(target.verb);
  if (known == nullptr || !known->can_fail) return false;
  if (target.verb == "rdma_ack_cm_event") return false;  // fails for NULL only; an event that is not acked blocks its id's end
  if (!sweep.program.empty() && !MatchesWildcard(sweep.program, target.program)) return false;
  return sweep.verbs.empty() || std::any_of(sweep.verbs.begin(), sweep.verbs.end(), [&](const std::string& pattern) {
           return MatchesWildcard(pattern, target.verb);
         });
}

// Of calls that one place makes again and again the first two: what a loop does wrong it does wrong at its second turn.
Calls ReadCalls(std::string_view rest, const SweepOptions& sweep) {
  constexpr int kOfOnePlace = 2;
  Calls calls;
  std::map<std::string, int> places;
  std::set<Target> seen;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size()));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    TakeWord(&line);  // the process
    Target target;
    target.verb = std::string(TakeWord(&line));
    const std::string_view number = TakeWord(&line);
    std::from_chars(number.data(), number.data() + number.size(), target.nth);
    const std::string_view place = TakeWord(&line);
    target.program = std::string(line);
    if (!IsWanted(sweep, target) || !seen.insert(target).second) continue;
    ++calls.all;
    if (++places[Cat(target.verb, " ", place, " ", target.program)] > kOfOnePlace) {
      ++calls.alike;
    } else if (static_cast<int>(calls.targets.size()) >= sweep.most_runs) {
      ++calls.beyond;
    } else {
      calls.targets.push_back(std::move(target));
    }
  }
  return calls;
}

// ---- what a run showed

// "allocate_domain leaky_echo.c:51"
std::string PlaceInWords(const std::vector<Frame>& frames) {
  const Frame* place = FirstPlace(frames);
  if (place == nullptr) {
    const auto outside = std::find_if(frames.begin(), frames.end(), [](const Frame& frame) { return !IsOfRdmaCore(frame.module); });
    if (outside != frames.end()) return NameOf(*outside);
    return frames.empty() ? std::string() : NameOf(frames.front());
  }
  return Cat(NameOf(*place), " ", LastPart(place->file), ":", place->line);
}

// Both the number of objects and where they come from: "2 cq of make_queues echo.c:70".
std::string LeakInWords(const ReportSet& set, const Finding& finding) {
  const std::string place = PlaceInWords(set.stacks.Get(CreatedStackOf(finding)));
  return Cat(finding.count, " ", finding.object.kind, place.empty() ? "" : Cat(" of ", place));
}

std::string ErrorInWords(const ReportSet& set, const Finding& finding) {
  if (IsLeak(finding.rule)) return LeakInWords(set, finding);
  const std::string place = PlaceInWords(set.stacks.Get(MainStack(set, finding)));
  return Cat(InfoOf(finding.rule).id, finding.has_object ? Cat(" of ", finding.object.kind) : "",
             place.empty() ? "" : Cat(" at ", place));
}

bool IsDestroy(const std::string& verb) {
  const fault::VerbName* const known = fault::FindVerb(verb);
  return known != nullptr && known->deed == fault::Deed::kDestroys;
}

// An object whose destroy was made to fail is left, and what it was made from can then not be destroyed either: that is the
// fault itself, and not what the program makes of it.
bool IsOfTheFault(const Target& target, const Finding& finding) {
  if (target.Deed() != fault::Deed::kDestroys) return false;
  if (finding.rule == Rule::kBusyDestroy) return true;
  if (!IsLeak(finding.rule)) return false;
  return IsDestroy(finding.object.last_failed_call.verb) ||
         (target.verb == "ibv_close_device" && finding.object.kind == "context");
}

std::string StatusInWords(const BoundedEnd& bounded) {
  if (bounded.timed_out) return Cat("killed after ", static_cast<int>(bounded.seconds), " s");
  return bounded.end.InWords();
}

bool IsCrash(const ChildEnd& end) {
  if (WIFSIGNALED(end.status)) return true;
  // A shell passes a signal of its program on as 128 and the number.
  const int status = WIFEXITED(end.status) ? WEXITSTATUS(end.status) : 0;
  return status == 128 + SIGSEGV || status == 128 + SIGABRT || status == 128 + SIGBUS || status == 128 + SIGFPE || status == 128 + SIGILL;
}

// `told`: the program's output says that the fault was injected, whether it left a report or not.
Result Judge(const Target& target, const ReportSet& base, const ReportSet& now, const BoundedEnd& bounded, bool told) {
  Result result;
  result.target = target;
  result.status = StatusInWords(bounded);
  bool injected = false;
  for (const SetProcess& process : now.processes) {
    for (const InjectedFault& one : process.injected) {
      injected = true;
      if (result.place.empty()) result.place = PlaceInWords(now.stacks.Get(one.stack));
    }
  }
  for (const size_t index : Compare(&base, now).fresh) {
    const Finding& finding = now.findings[index].finding;
    if (!IsOfTheFault(target, finding)) result.errors.push_back(ErrorInWords(now, finding));
  }
  // What is left anyway is no news, whether at a close or at the end.
  const auto made_at = [](const ReportSet& set, const Finding& finding) {
    return Cat(finding.object.kind, " ", LikenessOf(set.stacks.Get(CreatedStackOf(finding))));
  };
  std::set<std::string> before;
  for (const SetFinding& one : base.findings) {
    if (IsLeak(one.finding.rule)) before.insert(made_at(base, one.finding));
  }
  for (const SetFinding& one : now.findings) {
    const Finding& finding = one.finding;
    if (finding.severity != Severity::kWarning || !IsLeak(finding.rule) || !finding.suppressed_by.empty()) continue;
    if (IsOfTheFault(target, finding)) continue;
    if (before.count(made_at(now, finding)) == 0) result.left_open.push_back(LeakInWords(now, finding));
  }
  result.end = bounded.timed_out         ? End::kHangs
               : IsCrash(bounded.end)    ? End::kCrashes
               : !result.errors.empty() ? End::kLeaks
               : !injected               ? (told ? End::kNotChecked : End::kNotReached)
                                         : End::kPassed;
  return result;
}

// ---- the log: a line of JSON for each result, so that a sweep can be gone on with

Json JsonOf(const Result& result) {
  return {{"verb", result.target.verb},     {"call", result.target.nth}, {"program", result.target.program},
          {"error", ErrnoName(result.target.Error())}, {"at", result.place}, {"end", NameOf(result.end)},
          {"status", result.status},        {"errors", result.errors},   {"open_at_exit", result.left_open}};
}

// The results of an earlier sweep of the same command. Lines that make no sense are passed over: the last may be cut.
std::vector<Result> ReadLog(const std::string& path, const std::vector<std::string>& command, bool* other_command) {
  std::vector<Result> results;
  std::string text, error;
  *other_command = false;
  if (access(path.c_str(), F_OK) != 0 || !ReadWholeFile(path, &text, &error)) return results;
  std::string_view rest = text;
  bool first = true;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size()));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_discarded() || !json.is_object()) continue;
    if (first) {
      first = false;
      *other_command = json.value("command", Json()) != Json(command);
      if (*other_command) return results;
      continue;
    }
    try {
      Result result;
      result.target = {json.at("verb"), json.at("call"), json.at("program")};
      result.place = json.at("at");
      result.status = json.at("status");
      result.errors = json.at("errors").get<std::vector<std::string>>();
      result.left_open = json.at("open_at_exit").get<std::vector<std::string>>();
      for (const auto& [value, name] : kEnds) {
        if (json.at("end") == name) result.end = value;
      }
      results.push_back(std::move(result));
    } catch (const Json::exception&) {
      continue;
    }
  }
  *other_command |= first && !text.empty();
  return results;
}

class Log {
 public:
  explicit Log(const std::string& path)
      : fd_(path.empty() ? -1 : open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {}
  ~Log() {
    if (fd_ >= 0) close(fd_);
  }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  bool good() const { return fd_ >= 0; }
  void Write(const Json& json) {
    if (fd_ >= 0) WriteAll(fd_, json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  }

 private:
  const int fd_;
};

// ---- the table

std::string Joined(const std::vector<std::string>& pieces) {
  constexpr size_t kMostShown = 6;
  std::string text;
  for (size_t i = 0; i < std::min(pieces.size(), kMostShown); ++i) Append(&text, i == 0 ? "" : ", ", pieces[i]);
  if (pieces.size() > kMostShown) Append(&text, " and ", pieces.size() - kMostShown, " more");
  return text;
}

// "leaks 1 pd of make_pd a.c:3", "crashes: signal 11 (SIGSEGV)"
std::string OutcomeInWords(const Result& result) {
  std::string text;
  switch (result.end) {
    case End::kPassed: text = "ok"; break;
    case End::kNotReached: text = "not reached"; break;
    case End::kNotChecked: text = "not checked: ended without a report"; break;
    case End::kLeaks: break;
    case End::kHangs: text = Cat("HANGS, ", result.status); break;
    case End::kCrashes: text = Cat("CRASHES, ", result.status); break;
  }
  if (!result.errors.empty()) Append(&text, text.empty() ? "" : "; ", "LEAKS ", Joined(result.errors));
  if (!result.left_open.empty()) Append(&text, "; open at exit: ", Joined(result.left_open));
  return text;
}

void Show(const std::vector<Result>& results) {
  const std::vector<std::string> head = {"call", "fails with", "at", "status", "outcome"};
  std::vector<std::vector<std::string>> rows = {head};
  bool several = false;
  for (const Result& result : results) several |= result.target.program != results.front().target.program;
  for (const Result& result : results) {
    rows.push_back({Cat(several ? Cat(result.target.program, ": ") : "", result.target.verb, " #", result.target.nth),
                    ErrnoName(result.target.Error()), result.place, result.status, OutcomeInWords(result)});
  }
  std::vector<size_t> widths(head.size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string cell = Printable(row[i]);
      Append(&text, cell);
      if (i + 1 < row.size()) text.append(widths[i] + 2 - std::min(widths[i], cell.size()), ' ');
    }
    text += '\n';
  }
  WriteAll(STDOUT_FILENO, text);
}

void SayTotals(const std::vector<Result>& results, const Calls& calls) {
  const auto count = [&results](End end) {
    return std::count_if(results.begin(), results.end(), [end](const Result& result) { return result.end == end; });
  };
  const size_t open = static_cast<size_t>(
      std::count_if(results.begin(), results.end(), [](const Result& result) { return !result.left_open.empty(); }));
  Say(Cat(results.size(), " of ", Counted(calls.all, "call", "calls"), " made to fail: ", count(End::kLeaks), " leak, ",
          count(End::kHangs), " hang, ", count(End::kCrashes), " crash; ", open, " leave objects open at exit"));
  if (calls.alike > 0) {
    Say(Cat(Counted(calls.alike, "call was", "calls were"), " left out: its place had made two others, which were tried"));
  }
  if (calls.beyond > 0) {
    Say(Cat(Counted(calls.beyond, "call was", "calls were"), " left out: --sweep-limit is reached"));
  }
}

// ---- one run

class Runner {
 public:
  Runner(const RunOptions& run, const Program& program) : run_(run), program_(program) {}

  // False: it could not be made, and it was said why.
  bool Once(const std::string& fault, double seconds, BoundedEnd* bounded, ReportSet* set, std::string* calls) {
    Folder folder;
    if (folder.path().empty()) {
      Say(Cat("cannot make a folder for the reports in TMPDIR or /tmp: ", ErrnoText(folder.error())));
      return false;
    }
    RunOptions run = run_;
    run.faults.push_back(fault.empty() ? Cat("record=", folder.path(), "/calls") : fault);
    LibraryOptions library;
    Variables variables;
    if (!MakeOptions(run, folder, &library)) return false;
    // The program's own status says more than 23 does.
    Append(&library.text, library.text.empty() ? "" : ":", "exitcode=0:hang_timeout=3");
    if (!MakeVariables(run, folder, program_, library.text, &variables)) return false;
    *bounded = RunBounded(run.command, variables, folder.path() + "/output", seconds);
    if (bounded->end.start_error != 0) {
      Say(Cat("cannot run ", run.command.front(), ": ", ErrnoText(bounded->end.start_error)));
      return false;
    }
    Outcome outcome;
    Collect(folder, bounded->end, &library.suppressions, &outcome);
    *set = std::move(outcome.set);
    std::string error;
    if (calls != nullptr) ReadWholeFile(folder.path() + "/calls", calls, &error);  // none: no verb was called
    std::string output;
    told_ = ReadWholeFile(folder.path() + "/output", &output, &error) &&
            output.find("fault injected: ") != std::string::npos;
    return true;
  }
  bool told() const { return told_; }

 private:
  const RunOptions& run_;
  const Program& program_;
  bool told_ = false;
};

}  // namespace

int Sweep(const RunOptions& run, const SweepOptions& sweep) {
  bool other_command = false;
  std::vector<Result> results = ReadLog(sweep.log, run.command, &other_command);
  if (other_command) {
    Say(Cat(sweep.log, ": this is not the log of a sweep of this command; name another file, or remove it"));
    return kBadUsage;
  }
  Log log(sweep.log);
  if (!sweep.log.empty() && !log.good()) {
    Say(Cat("cannot write ", sweep.log, ": ", ErrnoText(errno)));
    return kBadUsage;
  }
  const Program program = LookAt(run.command);
  for (const std::string& obstacle : program.obstacles) Say(obstacle);
  Runner runner(run, program);
  constexpr double kLongest = 3600;
  BoundedEnd bounded;
  ReportSet base;
  std::string recorded;
  if (!runner.Once("", sweep.seconds > 0 ? sweep.seconds : kLongest, &bounded, &base, &recorded)) return kBadUsage;
  if (bounded.interrupted) return 128 + SIGINT;
  if (bounded.timed_out) {
    Say(Cat("the program did not end within ", static_cast<int>(bounded.seconds), " s without any fault; --sweep-timeout is longer"));
    return kBadUsage;
  }
  const Calls calls = ReadCalls(recorded, sweep);
  if (calls.all == 0) {
    Say("no call to make fail: the program called no such verb");
    return run.require_verbs ? kFindings : kClean;
  }
  const int status = bounded.end.ExitStatus();
  Say(Cat("the program makes ", Counted(calls.all, "call", "calls"), " of verbs",
          status == 0 ? std::string() : Cat(" (it ends with ", bounded.end.InWords(), " by itself)"), "; ",
          Counted(calls.targets.size(), "run", "runs"), " with one of them made to fail"));
  const double seconds = sweep.seconds > 0 ? sweep.seconds : std::max(10.0, 10 * bounded.seconds);
  if (results.empty()) log.Write({{"command", run.command}, {"calls", calls.all}});

  std::set<Target> done;
  for (const Result& result : results) done.insert(result.target);
  if (!results.empty()) Say(Cat(Counted(results.size(), "result", "results"), " of an earlier sweep in ", sweep.log));
  const bool terminal = isatty(STDERR_FILENO) == 1;
  bool interrupted = false;
  for (size_t i = 0; i < calls.targets.size() && !interrupted; ++i) {
    const Target& target = calls.targets[i];
    if (done.count(target) != 0) continue;
    ReportSet now;
    if (!runner.Once(target.Fault(), seconds, &bounded, &now, nullptr)) return kBadUsage;
    interrupted = bounded.interrupted;
    if (interrupted) break;
    results.push_back(Judge(target, base, now, bounded, runner.told()));
    const Result& result = results.back();
    log.Write(JsonOf(result));
    if (terminal || result.IsBad()) {
      Say(Cat("[", i + 1, "/", calls.targets.size(), "] ", target.verb, " #", target.nth, " ", OutcomeInWords(result)));
    }
  }
  Show(results);
  SayTotals(results, calls);
  if (interrupted) {
    Say(sweep.log.empty() ? std::string("interrupted") : Cat("interrupted; the same command goes on with ", sweep.log));
    return 128 + SIGINT;
  }
  return std::any_of(results.begin(), results.end(), [](const Result& result) { return result.IsBad(); }) ? kFindings : kClean;
}

}  // namespace rdmacheck
