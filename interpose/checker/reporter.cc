#include "interpose/checker/reporter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "interpose/base/quiet_lock.h"
#include "interpose/base/clock.h"
#include "interpose/checker/injected.h"
#include "interpose/checker/depot_frames.h"
#include "interpose/options/run_mark.h"
#include "report/errno_name.h"
#include "report/process_id.h"
#include "report/quiet_scope.h"

namespace rdmacheck {
namespace {

constexpr size_t kNotShownLines = 10;

// Rules of calls that may not come back: they are forwarded, and wait forever or touch what is not there any more.
bool MayNotReturn(Rule rule) {
  switch (rule) {
    case Rule::kUnackedEvents:
    case Rule::kOverAckedEvents:
    case Rule::kSelfDeadlock:
    case Rule::kCmUnackedEvent:
    case Rule::kBlockedDestroy:
    case Rule::kUseAfterDestroy:
    case Rule::kUseAfterClose:
    case Rule::kDoubleDestroy:  // with forward_double_destroy
    case Rule::kNullHandle:
    case Rule::kDestroyedUnderWaiter:
    case Rule::kEventDestroyRace:
      return true;
    default:
      return false;
  }
}

// A suppressions file larger than this is another file, named by mistake.
constexpr size_t kLargestSuppressions = 16 << 20;

// O_NONBLOCK: a FIFO that nobody writes to must not stop the program.
std::string ReadSuppressions(const std::string& path, std::string* error) {
  std::string text;
  const auto because = [&path](const std::string& why) { return Words(Is<Sentence::kCannotReadSuppressions>(path, why)); };
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  struct stat info = {};
  if (fd < 0 || fstat(fd, &info) != 0) {
    *error = because(ErrnoText(errno));
  } else if (S_ISDIR(info.st_mode)) {
    *error = because(ErrnoText(EISDIR));
  } else if (!S_ISREG(info.st_mode)) {
    *error = because(Words(Is<Sentence::kNotRegular>()));
  } else {
    char buffer[2048];
    ssize_t n;
    while ((n = read(fd, buffer, sizeof(buffer))) != 0 && error->empty()) {
      if (n < 0 && errno != EINTR) *error = because(ErrnoText(errno));
      if (n > 0) text.append(buffer, static_cast<size_t>(n));
      if (text.size() > kLargestSuppressions) *error = because(Words(Is<Sentence::kTooLarge>()));
    }
  }
  if (fd >= 0) close(fd);
  return text;
}

}  // namespace

Reporter::Reporter(const Options& options, StackDepot* depot, ModuleTable* modules, std::function<void(Report*)> fill)
    : options_(options),
      depot_(depot),
      modules_(modules),
      fill_(std::move(fill)),
      sink_(options.log_path, options.json_path),
      forms_(MakeLiveForms(options, &sink_)) {
  OwnModule(modules);
  for (const std::string& complaint : sink_.complaints()) sink_.Tell(complaint);
  if (!options.suppressions.empty()) {
    std::string error;
    const std::string text = ReadSuppressions(options.suppressions, &error);
    if (!error.empty()) {
      sink_.Tell(error);
    } else {
      std::vector<std::string> complaints;
      QuietLock lock(&mutex_);
      suppressions_ = Suppressions::Parse(text, options.suppressions, &complaints);
      for (const std::string& complaint : complaints) sink_.Tell(complaint);
    }
  }
}

void Reporter::Suppress(Finding* finding, FrameSource* frames) {
  if (!suppressions_.Concerns(InfoOf(finding->rule).id)) return;
  const Suppression* match = suppressions_.Match(InfoOf(finding->rule).id, frames->FramesOf(MatchedStackOf(*finding)));
  if (match != nullptr) finding->suppressed_by = match->Line();
}

void Reporter::WriteLocked(const std::vector<Finding>& group, const std::string& header, FrameSource* frames) {
  for (const std::unique_ptr<LiveForm>& form : forms_) form->WriteFindings(group, header, *frames);
}

// ---- what is said at once

// A finding that was said often enough is only counted, without a look at its names: a program may do it a million times.
bool Reporter::CountAgain(const std::vector<Finding>& group, const std::vector<uint64_t>& keys) {
  bool error = false;
  {
    QuietLock lock(&mutex_);
    for (uint64_t key : keys) {
      const KnownFinding* known = findings_.Find(key);
      if (known == nullptr) return false;
      if (!known->suppressed && known->shown < kTextsOfEqualFindings) return false;
    }
    for (size_t i = 0; i < group.size(); ++i) {
      bool fresh = false;
      const KnownFinding* known = findings_.Add(group[i], keys[i], &fresh);
      error |= known->severity == Severity::kError && !known->suppressed;
    }
  }
  After(error, false);
  return true;
}

void Reporter::Say(Finding finding) {
  std::vector<Finding> group;
  group.push_back(std::move(finding));
  Say(std::move(group));
}

void Reporter::Say(std::vector<Finding> group) { SayGroup(std::move(group), std::string()); }

void Reporter::Say(std::vector<Finding> group, const Statement& header) {
  if (group.empty()) return;
  const std::string words = Words(header, group.front());
  SayGroup(std::move(group), words);
}

void Reporter::SayGroup(std::vector<Finding> group, const std::string& header) {
  if (group.empty()) return;
  std::vector<uint64_t> keys;
  for (const Finding& finding : group) keys.push_back(KeyOf(finding));
  if (CountAgain(group, keys)) return;
  for (Finding& finding : group) PutIntoWords(&finding);
  bool error = false, urgent = false;
  {
    QuietScope quiet;
    ReportFrames frames(depot_, modules_, options_, options_.symbolize);
    QuietLock lock(&mutex_);
    bool say = false;
    std::vector<KnownFinding*> shown;
    for (size_t i = 0; i < group.size(); ++i) {
      Finding& finding = group[i];
      NameInjected(&finding);
      Suppress(&finding, frames.get());
      const bool speaks = finding.suppressed_by.empty();
      error |= speaks && finding.severity == Severity::kError;
      urgent |= speaks && MayNotReturn(finding.rule);
      bool fresh = false;
      KnownFinding* known = findings_.Add(finding, keys[i], &fresh);
      say |= known == nullptr || known->shown < kTextsOfEqualFindings;
      if (speaks && known != nullptr) shown.push_back(known);
    }
    if (say) {
      WriteLocked(group, header, frames.get());
      for (KnownFinding* known : shown) ++known->shown;
    }
  }
  After(error, urgent);
}

// ---- one finding for each subject

void Reporter::SayOnce(Finding finding, uint64_t subject) {
  PutIntoWords(&finding);
  const uint64_t key = MixKeys(KeyOf(finding), subject);
  bool error = false;
  {
    QuietScope quiet;
    ReportFrames frames(depot_, modules_, options_, options_.symbolize);
    QuietLock lock(&mutex_);
    if (subjects_.find(subject) != subjects_.end()) return;
    subjects_[subject] = key;
    NameInjected(&finding);
    Suppress(&finding, frames.get());
    error = finding.severity == Severity::kError && finding.suppressed_by.empty();
    bool fresh = false;
    KnownFinding* known = findings_.Add(finding, key, &fresh);
    WriteLocked({finding}, std::string(), frames.get());
    if (known != nullptr && !known->suppressed) ++known->shown;
  }
  After(error, false);
}

bool Reporter::NoteRepeat(uint64_t subject, int result) {
  {
    QuietLock lock(&mutex_);
    auto it = subjects_.find(subject);
    if (it == subjects_.end()) return false;
    if (KnownFinding* known = findings_.Find(it->second)) {
      ++known->count;
      if (known->finding != nullptr) known->finding->result = result;
    }
  }
  After(false, false);
  return true;
}

bool Reporter::AddDetail(uint64_t subject, Finding more) {
  PutIntoWords(&more);
  {
    QuietLock lock(&mutex_);
    auto it = subjects_.find(subject);
    if (it == subjects_.end()) return false;
    if (KnownFinding* known = findings_.Find(it->second)) findings_.AddDetail(known, std::move(more));
  }
  After(false, false);
  return true;
}

// ---- counts

std::vector<Finding> Reporter::Findings() {
  Report report;
  QuietLock lock(&mutex_);
  BuildLocked(&report);
  return std::move(report.findings);
}

uint64_t Reporter::errors() {
  QuietLock lock(&mutex_);
  return findings_.counts().Of(Severity::kError);
}

bool Reporter::anything() {
  QuietLock lock(&mutex_);
  return !findings_.empty();
}

// ---- when it is written

void Reporter::After(bool error, bool urgent) {
  if (error && options_.halt_on_error) {
    Summarize();
    WriteReport(Moment::kAbort);
    abort();
  }
  WriteReport(urgent ? Moment::kMayNotReturn : error ? Moment::kError : Moment::kFinding);
}

bool Reporter::DueLocked(Moment moment, std::vector<LiveForm*>* due) {
  due->clear();
  for (const std::unique_ptr<LiveForm>& form : forms_) {
    if (form->Due(moment)) due->push_back(form.get());
  }
  return !due->empty();
}

void Reporter::WriteReport(Moment moment, int exit_status) {
  std::vector<LiveForm*> due;
  {
    QuietLock lock(&mutex_);
    if (!DueLocked(moment, &due)) return;
  }
  QuietScope quiet;
  Report report;
  const bool ended = moment == Moment::kExit || moment == Moment::kExitOfForked;
  if (ended && at_end_ != nullptr) {
    report = std::move(*at_end_);
    at_end_.reset();
  } else {
    fill_(&report);  // not under the mutex: it asks the loader
  }
  ReportFrames frames(depot_, modules_, options_, options_.symbolize);
  QuietLock lock(&mutex_);
  report.process.ended = ended ? EpochNow() : 0;
  report.process.exit_status = exit_status;
  BuildLocked(&report);
  for (LiveForm* form : due) form->WriteReport(report, *frames.get());
}

LastWords Reporter::LastWordsLocked() {
  LastWords last;
  last.counts = findings_.counts();
  last.not_kept = findings_.NotKept();
  for (const KnownFinding* known : findings_.NotShown()) {
    const uint64_t times = known->times - known->shown;
    if (known->finding == nullptr || last.not_shown.size() == kNotShownLines) {
      last.other_times += times;
      ++last.other_findings;
      continue;
    }
    last.not_shown.push_back({*known->finding, times});
    Finding& finding = last.not_shown.back().finding;
    finding.times = known->times;
    finding.objects = known->objects;
    finding.resolved = known->resolved;
  }
  return last;
}

void Reporter::Summarize(bool growth) {
  QuietScope quiet;
  Report report;
  if (growth) fill_(&report);  // not under the mutex: it asks the loader
  LastWords last;
  {
    QuietLock lock(&mutex_);
    if (summarized_ || findings_.empty()) return KeepForTheEndLocked(growth, std::move(report));
    summarized_ = true;
    last = LastWordsLocked();
  }
  last.growth = report.summary.growth;
  ReportFrames frames(depot_, modules_, options_, options_.symbolize && !(last.growth.empty() && last.not_shown.empty()));
  QuietLock lock(&mutex_);
  for (const std::unique_ptr<LiveForm>& form : forms_) form->WriteLastWords(last, *frames.get());
  KeepForTheEndLocked(growth, std::move(report));
}

// What follows at the end of a process are the reports that are written as a whole, of the same state.
void Reporter::KeepForTheEndLocked(bool filled, Report report) {
  std::vector<LiveForm*> due;
  if (filled && DueLocked(Moment::kExit, &due)) at_end_ = std::make_unique<Report>(std::move(report));
}

std::vector<std::string> Reporter::UnmatchedSuppressions() {
  QuietLock lock(&mutex_);
  std::vector<std::string> lines;
  for (const Suppression* row : suppressions_.Unmatched()) lines.push_back(row->where + " " + row->Line());
  return lines;
}

void Reporter::BuildLocked(Report* report) {
  report->process.pid = ProcessId();
  report->process.ppid = getppid();
  report->process.exe = sink_.values().exe;
  report->process.host = sink_.values().host;
  report->process.rank = sink_.values().rank;
  report->process.started = Start().epoch;
  report->injected = InjectedFaults();
  report->summary.lost_texts = sink_.lost_texts();
  findings_.Fill(report);
}

int Reporter::WriteSnapshot(const std::string& path) {
  LiveForm* form = nullptr;
  int error = EOPNOTSUPP;
  {
    QuietLock lock(&mutex_);
    for (const std::unique_ptr<LiveForm>& each : forms_) {
      const int may = each->MaySnapshot();
      if (may == LiveForm::kNoSnapshots) continue;
      error = may;
      form = each.get();
    }
  }
  if (error != 0) return error;
  {
    QuietScope quiet;
    Report report;
    fill_(&report);
    ReportFrames frames(depot_, modules_, options_, options_.symbolize);
    QuietLock lock(&mutex_);
    BuildLocked(&report);
    error = form->WriteSnapshot(path, report, *frames.get());
  }
  WriteReport(Moment::kSnapshot);
  return error;
}

void Reporter::WriteNextSnapshot() {
  const std::string path = NextSnapshotPath();
  if (WriteSnapshot(path) != 0) return;
  RunMarkSnapshot(path.c_str());
  Tell(Is<Sentence::kSnapshotWritten>(path));
}

std::string Reporter::NextSnapshotPath() {
  QuietLock lock(&mutex_);
  const std::string mark = ".snapshot-" + std::to_string(++snapshots_);
  if (!sink_.has_json()) return "rdmacheck." + std::to_string(ProcessId()) + mark + ".json";
  std::string path = sink_.JsonPath();
  const size_t slash = path.rfind('/');
  const size_t dot = path.rfind('.');
  const bool has_ending = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1);
  path.insert(has_ending ? dot : path.size(), mark);
  return path;
}

}  // namespace rdmacheck
