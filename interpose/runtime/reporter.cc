#include "interpose/runtime/reporter.h"

#include <stdio.h>
#include <stdlib.h>
#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <memory>

#include "interpose/ledger/clock.h"
#include "report/errno_name.h"
#include "report/json_writer.h"
#include "report/quiet_scope.h"
#include "report/symbolize.h"
#include "report/text_writer.h"

namespace rdmacheck {
namespace {

constexpr uint64_t kTextsOfEqualFindings = 10;
constexpr size_t kMaxFindings = 10000;

// The file this code lies in. Looked up once, by the first reporter: a forked child must not ask the loader.
ModuleId OwnModule(ModuleTable* modules) {
  static const ModuleId own = [modules] {
    void* const here = reinterpret_cast<void*>(&OwnModule);
    CodePlace place;
    modules->Resolve(&here, 1, &place);
    return place.module;
  }();
  return own;
}

// The depot's stacks as the report wants them: without our own frames, which stand between a library's call inside an
// intercepted one and the program.
class DepotFrames : public FrameSource {
 public:
  DepotFrames(const StackDepot* depot, ModuleTable* modules)
      : depot_(depot), modules_(modules), own_(OwnModule(modules)) {}
  std::vector<Frame> FramesOf(StackId id) override {
    std::vector<Frame> frames;
    const StackDepot::Node* node = depot_->Get(id);
    for (int i = 0; node != nullptr && i < node->depth; ++i) {
      if (own_ != 0 && node->places[i].module == own_) continue;
      const Module module = modules_->Get(node->places[i].module);
      Frame frame;
      frame.module = module.path;
      frame.build_id = module.build_id;
      frame.offset = node->places[i].offset;
      frames.push_back(std::move(frame));
    }
    return frames;
  }

 private:
  const StackDepot* const depot_;
  const ModuleTable* const modules_;
  const ModuleId own_;
};

// Raw frames, and names on top of them for as long as one report is written. Always made before the reporter's mutex is
// taken, and so gone after it was given back: making and ending it takes the loader's lock, which a thread that runs a
// plugin's constructor holds when it comes here with a finding of its own.
class ReportFrames {
 public:
  ReportFrames(const StackDepot* depot, ModuleTable* modules, bool symbolize)
      : raw_(depot, modules),
        symbolizer_(symbolize ? std::make_unique<Symbolizer>() : nullptr),
        named_(&raw_, symbolizer_.get()) {}
  FrameSource* get() { return &named_; }

 private:
  DepotFrames raw_;
  std::unique_ptr<Symbolizer> symbolizer_;
  SymbolizedFrames named_;
};

StackId CreatedStackOf(const Finding& finding) {
  for (const StackRef& stack : finding.stacks) {
    if (stack.role == StackRole::kCreated) return stack.id;
  }
  if (finding.has_object && finding.object.created != kNoStack) return finding.object.created;
  return finding.stacks.empty() ? kNoStack : finding.stacks[0].id;
}

uint64_t KeyOf(const Finding& finding) {
  uint64_t key = static_cast<uint64_t>(finding.rule) * 4 + static_cast<uint64_t>(finding.severity) + 1;
  auto mix = [&key](uint64_t value) { key = (key ^ value) * 0x9E3779B97F4A7C15u + (key >> 31); };
  mix(std::hash<std::string>()(finding.has_object ? finding.object.kind : std::string()));
  mix(std::hash<std::string>()(finding.has_object ? finding.object.device : std::string()));
  mix(std::hash<std::string>()(finding.verb));
  for (const StackRef& stack : finding.stacks) mix(static_cast<uint64_t>(stack.role) << 32 | stack.id);
  return key;
}

std::string ReadFileQuietly(const std::string& path, std::string* error) {
  std::string text;
  FILE* file = fopen(path.c_str(), "re");
  if (file == nullptr) {
    *error = "cannot read the suppressions file " + path + ": " + ErrnoText(errno);
    return text;
  }
  char buffer[4096];
  size_t n;
  while ((n = fread(buffer, 1, sizeof(buffer), file)) > 0) text.append(buffer, n);
  fclose(file);
  return text;
}

}  // namespace

Reporter::Reporter(const Options& options, StackDepot* depot, ModuleTable* modules, std::function<void(Report*)> fill)
    : options_(options),
      depot_(depot),
      modules_(modules),
      fill_(std::move(fill)),
      sink_(options.log_path, options.json_path) {
  OwnModule(modules);
  for (const std::string& complaint : sink_.complaints()) sink_.Tell(complaint);
  if (!options.suppressions.empty()) {
    std::string error;
    const std::string text = ReadFileQuietly(options.suppressions, &error);
    if (!error.empty()) {
      sink_.Tell(error);
    } else {
      std::vector<std::string> complaints;
      MutexLock lock(&mutex_);
      suppressions_ = Suppressions::Parse(text, options.suppressions, &complaints);
      for (const std::string& complaint : complaints) sink_.Tell(complaint);
    }
  }
}

void Reporter::Suppress(Finding* finding, FrameSource* frames) {
  if (suppressions_.empty()) return;
  const Suppression* match = suppressions_.Match(InfoOf(finding->rule).id, frames->FramesOf(CreatedStackOf(*finding)));
  if (match != nullptr) finding->suppressed_by = match->Line();
}

// A finding that was said often enough is only counted, without a look at its names: a program may do it a million times.
bool Reporter::CountAgain(const std::vector<Finding>& group) {
  bool error = false;
  {
    MutexLock lock(&mutex_);
    for (const Finding& finding : group) {
      auto known = by_key_.find(KeyOf(finding));
      if (known == by_key_.end()) return false;
      const Finding& first = findings_[known->second];
      if (first.count / std::max<uint64_t>(finding.count, 1) < kTextsOfEqualFindings) return false;
    }
    for (const Finding& finding : group) {
      Finding& first = findings_[by_key_[KeyOf(finding)]];
      first.count += finding.count;
      first.bytes += finding.bytes;
      error |= finding.severity == Severity::kError && first.suppressed_by.empty();
    }
  }
  HaltIfAsked(error);
  return true;
}

void Reporter::Say(Finding finding) {
  std::vector<Finding> group;
  group.push_back(std::move(finding));
  Say(std::move(group));
}

void Reporter::Say(std::vector<Finding> group, const std::string& header) {
  if (group.empty()) return;
  if (CountAgain(group)) return;
  bool error = false;
  {
    QuietScope quiet;
    ReportFrames frames(depot_, modules_, options_.symbolize);
    MutexLock lock(&mutex_);
    bool say = false;
    for (Finding& finding : group) {
      Suppress(&finding, frames.get());
      error |= finding.severity == Severity::kError && finding.suppressed_by.empty();
      const uint64_t key = KeyOf(finding);
      auto known = by_key_.find(key);
      if (known == by_key_.end()) {
        say = true;
        if (findings_.size() >= kMaxFindings) {
          ++dropped_;
          continue;
        }
        by_key_[key] = findings_.size();
        findings_.push_back(finding);
        findings_.back().hints = finding.hints;
      } else {
        Finding& first = findings_[known->second];
        const uint64_t texts = first.count / (finding.count == 0 ? 1 : finding.count);
        say |= texts < kTextsOfEqualFindings;
        first.count += finding.count;
        first.bytes += finding.bytes;
      }
    }
    if (say) {
      const std::string text = TextOf(group, getpid(), *frames.get(), header);
      if (!text.empty()) sink_.WriteText(text);
    }
  }
  HaltIfAsked(error);
}

void Reporter::SayPending(Finding finding, uint64_t serial) {
  QuietScope quiet;
  ReportFrames frames(depot_, modules_, options_.symbolize);
  MutexLock lock(&mutex_);
  Suppress(&finding, frames.get());
  if (findings_.size() >= kMaxFindings) {
    ++dropped_;
    return;
  }
  const uint64_t key = KeyOf(finding);
  const bool say = by_key_.find(key) == by_key_.end();
  by_key_[key] = findings_.size();
  pending_[serial] = findings_.size();
  findings_.push_back(finding);
  if (!say) return;
  const std::string text = TextOf({finding}, getpid(), *frames.get());
  if (!text.empty()) sink_.WriteText(text);
}

bool Reporter::Again(uint64_t serial, int result) {
  MutexLock lock(&mutex_);
  auto it = pending_.find(serial);
  if (it == pending_.end()) return false;
  Finding& known = findings_[it->second];
  ++known.count;
  known.result = result;
  return true;
}

bool Reporter::Complete(uint64_t serial, std::vector<Related> related, const std::string& hint) {
  MutexLock lock(&mutex_);
  auto it = pending_.find(serial);
  if (it == pending_.end()) return false;
  Finding& known = findings_[it->second];
  for (Related& each : related) known.related.push_back(std::move(each));
  known.hints.push_back(hint);
  return true;
}

void Reporter::Resolve(uint64_t serial, const std::string& how) {
  MutexLock lock(&mutex_);
  auto it = pending_.find(serial);
  if (it == pending_.end()) return;
  Finding& finding = findings_[it->second];
  finding.severity = Severity::kNote;
  finding.hints.push_back(how);
  pending_.erase(it);
}

void Reporter::Harden(uint64_t serial, Finding finding) {
  bool error = false;
  {
    QuietScope quiet;
    ReportFrames frames(depot_, modules_, options_.symbolize);
    MutexLock lock(&mutex_);
    auto it = pending_.find(serial);
    if (it == pending_.end()) return;
    Finding& known = findings_[it->second];
    pending_.erase(it);
    known.severity = Severity::kError;
    finding.severity = Severity::kError;
    finding.suppressed_by = known.suppressed_by;
    known.message = finding.message;
    for (const std::string& hint : finding.hints) known.hints.push_back(hint);
    error = known.suppressed_by.empty();
    const std::string text = TextOf({finding}, getpid(), *frames.get());
    if (!text.empty()) sink_.WriteText(text);
  }
  HaltIfAsked(error);
}

uint64_t Reporter::ErrorsLocked() {
  uint64_t errors = 0;
  for (const Finding& finding : findings_) {
    errors += finding.severity == Severity::kError && finding.suppressed_by.empty();
  }
  return errors;
}

uint64_t Reporter::errors() {
  MutexLock lock(&mutex_);
  return ErrorsLocked();
}

bool Reporter::anything() {
  MutexLock lock(&mutex_);
  return !findings_.empty();
}

void Reporter::HaltIfAsked(bool error) {
  if (!error || !options_.halt_on_error) return;
  Summarize();
  WriteJson(false, -1);
  abort();
}

void Reporter::Summarize(bool growth) {
  QuietScope quiet;
  ReportFrames frames(depot_, modules_, options_.symbolize && growth);
  MutexLock lock(&mutex_);
  std::string summary = SummaryLine(findings_);
  if (summary.empty()) return;
  if (growth) summary = WithGrowthLocked(std::move(summary), frames.get());
  if (summary == last_summary_) return;
  last_summary_ = summary;
  sink_.WriteText(summary);
}

// "…; growth: 1528 of 1537 qp created at connect_peer peer.c:42 still live" before the end of the line.
std::string Reporter::WithGrowthLocked(std::string summary, FrameSource* frames) {
  Report report;
  fill_(&report);
  if (report.summary.growth.empty()) return summary;
  summary.pop_back();
  for (const Growth& growth : report.summary.growth) {
    const std::vector<Frame> stack = frames->FramesOf(growth.stack);
    summary += "; growth: " + std::to_string(growth.alive) + " of " + std::to_string(growth.created) + " " + growth.kind +
               " created" + (stack.empty() ? std::string() : " at " + TextOf(stack[0])) + " still live";
  }
  return summary + "\n";
}

std::vector<std::string> Reporter::UnmatchedSuppressions() {
  MutexLock lock(&mutex_);
  std::vector<std::string> lines;
  for (const Suppression* row : suppressions_.Unmatched()) lines.push_back(row->where + " " + row->Line());
  return lines;
}

Report Reporter::BuildLocked(bool ended, int exit_status) {
  Report report;
  report.process.pid = getpid();
  report.process.ppid = getppid();
  char exe[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe));
  if (n > 0) report.process.exe.assign(exe, static_cast<size_t>(n));
  const PathValues values = CurrentPathValues();
  report.process.host = values.host;
  report.process.rank = values.rank;
  report.process.started = Start().epoch;
  report.process.ended = ended ? EpochNow() : 0;
  report.process.exit_status = exit_status;
  report.findings = findings_;
  for (const Finding& finding : findings_) {
    if (!finding.suppressed_by.empty()) {
      report.summary.suppressed += 1;
      continue;
    }
    switch (finding.severity) {
      case Severity::kError: ++report.summary.errors; break;
      case Severity::kWarning: ++report.summary.warnings; break;
      case Severity::kNote: ++report.summary.notes; break;
    }
  }
  fill_(&report);
  if (dropped_ > 0) {
    report.environment.unwatched.push_back(std::to_string(dropped_) + " findings more than a report holds are left out");
  }
  return report;
}

void Reporter::WriteJson(bool ended, int exit_status) {
  if (!sink_.has_json()) return;
  QuietScope quiet;
  ReportFrames frames(depot_, modules_, options_.symbolize);
  MutexLock lock(&mutex_);
  const Report report = BuildLocked(ended, exit_status);
  sink_.ReplaceJson(JsonOf(report, *frames.get()));
}

int Reporter::WriteSnapshot(const std::string& path) {
  QuietScope quiet;
  ReportFrames frames(depot_, modules_, options_.symbolize);
  MutexLock lock(&mutex_);
  const Report report = BuildLocked(false, -1);
  return sink_.ReplaceAndTell(path, JsonOf(report, *frames.get()));
}

std::string Reporter::NextSnapshotPath() {
  MutexLock lock(&mutex_);
  const std::string mark = ".snapshot-" + std::to_string(++snapshots_);
  if (!sink_.has_json()) return "rdmacheck." + std::to_string(getpid()) + mark + ".json";
  std::string path = sink_.JsonPath();
  const size_t slash = path.rfind('/');
  const size_t dot = path.rfind('.');
  const bool has_ending = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1);
  path.insert(has_ending ? dot : path.size(), mark);
  return path;
}

}  // namespace rdmacheck
