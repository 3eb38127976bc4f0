#include "interpose/checker/reporter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "interpose/base/clock.h"
#include "interpose/checker/injected.h"
#include "interpose/options/run_mark.h"
#include "report/errno_name.h"
#include "report/json_writer.h"
#include "report/process_id.h"
#include "report/quiet_scope.h"
#include "report/symbolize.h"
#include "report/text_writer.h"

namespace rdmacheck {
namespace {

constexpr uint64_t kTextsOfEqualFindings = 10;
constexpr size_t kMaxRelatedKept = 20000;  // of all findings
constexpr size_t kRelatedBeyond = 5;       // what a finding lists when these are used up
constexpr size_t kNotShownLines = 10;
constexpr uint64_t kSecond = 1000000000;
constexpr uint64_t kJsonShare = 10;  // writing the JSON report while the program runs takes a tenth of its time at most

uint64_t Mixed(uint64_t key, uint64_t value) { return (key ^ value) * 0x9E3779B97F4A7C15u + (key >> 31); }
uint64_t HashOf(const std::string& text) { return std::hash<std::string>()(text); }

// What gives way first when there are too many findings.
size_t WeightOf(Severity severity, bool suppressed) { return suppressed ? 0 : static_cast<size_t>(severity); }

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

// Raw frames, and names on top of them for as long as one report is written.
class ReportFrames {
 public:
  ReportFrames(const StackDepot* depot, ModuleTable* modules, bool symbolize)
      : raw_(depot, modules),
        symbolizer_(symbolize ? std::make_unique<Symbolizer>(OptionsFor(modules)) : nullptr),
        named_(&raw_, symbolizer_.get()) {}
  FrameSource* get() { return &named_; }

 private:
  static SymbolizerOptions OptionsFor(const ModuleTable* modules) {
    SymbolizerOptions options;
    options.image_of = [modules](const std::string& path, const std::string& build_id) {
      return modules->ImageOf(path, build_id);
    };
    return options;
  }

  DepotFrames raw_;
  std::unique_ptr<Symbolizer> symbolizer_;
  SymbolizedFrames named_;
};

uint64_t KeyOf(const Finding& finding) {
  uint64_t key = static_cast<uint64_t>(finding.rule) * 4 + static_cast<uint64_t>(finding.severity) + 1;
  key = Mixed(key, HashOf(finding.has_object ? finding.object.kind : std::string()));
  key = Mixed(key, HashOf(finding.has_object ? finding.object.device : std::string()));
  key = Mixed(key, HashOf(finding.verb));
  for (const StackRef& stack : finding.stacks) key = Mixed(key, static_cast<uint64_t>(stack.role) << 32 | stack.id);
  return key;
}

// A finding that stands for refusals by several verbs names them.
void AddVerb(Finding* finding, const std::string& verb) {
  if (finding->verb == verb) return;
  const std::string also = Words(Is<Sentence::kAlsoRefused>(verb));
  if (std::find(finding->hints.begin(), finding->hints.end(), also) == finding->hints.end()) {
    finding->hints.push_back(also);
  }
}

// Objects beyond the first few become counts.
void ListFewer(Finding* finding, size_t most) {
  for (size_t i = most; i < finding->related.size(); ++i) {
    const Related& one = finding->related[i];
    const auto same = std::find_if(finding->unlisted.begin(), finding->unlisted.end(), [&one](const Unlisted& some) {
      return some.role == one.role && some.kind == one.object.kind && some.stack == one.object.created;
    });
    if (same != finding->unlisted.end()) {
      ++same->count;
    } else {
      finding->unlisted.push_back({one.role, one.object.kind, one.object.created, 1});
    }
  }
  if (finding->related.size() > most) finding->related.resize(most);
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
      sink_(options.log_path, options.json_path) {
  OwnModule(modules);
  for (const std::string& complaint : sink_.complaints()) sink_.Tell(complaint);
  if (!options.suppressions.empty()) {
    std::string error;
    const std::string text = ReadSuppressions(options.suppressions, &error);
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
  if (!suppressions_.Concerns(InfoOf(finding->rule).id)) return;
  const Suppression* match = suppressions_.Match(InfoOf(finding->rule).id, frames->FramesOf(MatchedStackOf(*finding)));
  if (match != nullptr) finding->suppressed_by = match->Line();
}

// ---- counting and keeping

Reporter::Known* Reporter::AddLocked(const Finding& finding, uint64_t key, bool* fresh) {
  auto it = known_.find(key);
  *fresh = it == known_.end();
  if (*fresh && known_.size() >= kMaxKnown) {
    ++beyond_;
    if (finding.suppressed_by.empty()) {
      counts_.Add(finding.rule, finding.severity, 1, finding.times);
    } else {
      ++counts_.suppressed;
    }
    return nullptr;
  }
  Known& known = *fresh ? known_[key] : it->second;
  if (*fresh) {
    known.order = next_order_++;
    known.rule = finding.rule;
    known.severity = finding.severity;
    known.suppressed = !finding.suppressed_by.empty();
    if (known.suppressed) ++counts_.suppressed;
  }
  if (!known.suppressed) counts_.Add(known.rule, known.severity, *fresh ? 1 : 0, finding.times);
  known.times += finding.times;
  known.count += finding.count;
  known.bytes += finding.bytes;
  if (*fresh) KeepLocked(&known, finding);  // last: it may find that memory is out, and counted it is all the same
  return &known;
}

void Reporter::KeepLocked(Known* known, const Finding& finding) {
  const size_t weight = WeightOf(known->severity, known->suppressed);
  const bool error = weight == static_cast<size_t>(Severity::kError);
  // An error unlike all others is kept in any case: rules, verbs and kinds are few.
  const bool new_kind =
      error && kinds_kept_
                   .insert(Mixed(Mixed(static_cast<uint64_t>(finding.rule) + 1, HashOf(finding.verb)),
                                 HashOf(finding.object.kind)))
                   .second;
  if (kept_[0] + kept_[1] + kept_[2] >= kMaxKept) {
    Known* victim = nullptr;
    for (size_t less = 0; less < weight && victim == nullptr; ++less) {
      if (kept_[less] == 0) continue;
      for (auto& [key, other] : known_) {
        if (other.finding == nullptr || WeightOf(other.severity, other.suppressed) != less) continue;
        if (victim == nullptr || other.order > victim->order) victim = &other;
      }
    }
    if (victim != nullptr) {
      LetGoLocked(victim);
    } else if (!new_kind) {
      return;
    }
  }
  known->finding = std::make_unique<Finding>(finding);
  if (related_kept_ + finding.related.size() > kMaxRelatedKept) ListFewer(known->finding.get(), kRelatedBeyond);
  related_kept_ += known->finding->related.size();
  ++kept_[weight];
}

void Reporter::LetGoLocked(Known* known) {
  if (known->finding == nullptr) return;
  related_kept_ -= known->finding->related.size();
  --kept_[WeightOf(known->severity, known->suppressed)];
  known->finding.reset();
}

void Reporter::WriteLocked(const std::vector<Finding>& group, const std::string& header, FrameSource* frames) {
  const std::string text = TextOf(group, ProcessId(), *frames, header);
  if (text.empty()) return;
  sink_.WriteText(text);
  if (told_names_ || !options_.symbolize || !LacksNames(group, *frames)) return;
  told_names_ = true;
  Tell(Is<Sentence::kNoNames>());
}

// ---- what is said at once

// A finding that was said often enough is only counted, without a look at its names: a program may do it a million times.
bool Reporter::CountAgain(const std::vector<Finding>& group, const std::vector<uint64_t>& keys) {
  bool error = false;
  {
    MutexLock lock(&mutex_);
    for (uint64_t key : keys) {
      auto it = known_.find(key);
      if (it == known_.end()) return false;
      if (!it->second.suppressed && it->second.shown < kTextsOfEqualFindings) return false;
    }
    for (size_t i = 0; i < group.size(); ++i) {
      bool fresh = false;
      const Known* known = AddLocked(group[i], keys[i], &fresh);
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
    ReportFrames frames(depot_, modules_, options_.symbolize);
    MutexLock lock(&mutex_);
    bool say = false;
    std::vector<Known*> shown;
    for (size_t i = 0; i < group.size(); ++i) {
      Finding& finding = group[i];
      NameInjected(&finding);
      Suppress(&finding, frames.get());
      const bool speaks = finding.suppressed_by.empty();
      error |= speaks && finding.severity == Severity::kError;
      urgent |= speaks && MayNotReturn(finding.rule);
      bool fresh = false;
      Known* known = AddLocked(finding, keys[i], &fresh);
      say |= known == nullptr || known->shown < kTextsOfEqualFindings;
      if (speaks && known != nullptr) shown.push_back(known);
    }
    if (say) {
      WriteLocked(group, header, frames.get());
      for (Known* known : shown) ++known->shown;
    }
  }
  After(error, urgent);
}

// ---- refused destroys

// Several refusals inside one call of a library (librdmacm destroys a QP, then its CQs and their channels) have one
// cause: what the program called, and from where. 0: the program's own destroy.
uint64_t Reporter::CauseOf(StackId here) const {
  const StackDepot::Node* node = depot_->Get(here);
  if (node == nullptr || node->owner == Module::Owner::kProgram) return 0;
  int first = 0;
  while (first < node->depth && modules_->Get(node->places[first].module).owner != Module::Owner::kProgram) ++first;
  if (first == node->depth) return 0;
  uint64_t cause = 1;
  for (int i = first; i < node->depth; ++i) cause = Mixed(cause, reinterpret_cast<uintptr_t>(node->pcs[i]));
  return cause | 1;
}

uint64_t Reporter::RefusalKey(const Finding& like, bool explained) const {
  uint64_t cause = 0;
  for (const StackRef& stack : like.stacks) {
    if (stack.role == StackRole::kHere) cause = CauseOf(stack.id);
  }
  uint64_t key = KeyOf(like);
  if (cause != 0) {
    key = Mixed(cause, static_cast<uint64_t>(like.rule) * 4 + static_cast<uint64_t>(like.severity));
    key = Mixed(key, HashOf(like.object.device));
  }
  return Mixed(key, explained ? 1 : 2);
}

bool Reporter::CountRefusal(const Finding& like, uint64_t serial, const Refusal& refusal) {
  const uint64_t key = RefusalKey(like, refusal.explained);
  {
    MutexLock lock(&mutex_);
    auto it = pending_.find(serial);
    if (it != pending_.end()) {
      Refusal& before = it->second.refusal;
      // What explained the first refusals does not explain this one: that is news.
      if (!refusal.explained && before.unexplained == 0) return false;
      const uint64_t times = before.times + 1, unexplained = before.unexplained + (refusal.explained ? 0 : 1);
      before = refusal;
      before.times = times;
      before.unexplained = unexplained;
    }
    auto known = known_.find(it != pending_.end() ? it->second.key : key);
    if (known == known_.end()) {
      if (it == pending_.end()) return false;
      counts_.Add(like.rule, like.severity, 0, 1);
    } else {
      Known& note = known->second;
      ++note.times;
      ++note.count;
      if (!note.suppressed) counts_.Add(note.rule, note.severity, 0, 1);
      if (note.finding != nullptr) {
        if (note.objects == 1 && it != pending_.end()) note.finding->result = refusal.result;
        AddVerb(note.finding.get(), like.verb);
      }
      if (it == pending_.end()) {
        ++note.objects;
        Pending& pending = pending_[serial];
        pending = {key, refusal};
        pending.refusal.times = 1;
        pending.refusal.unexplained = refusal.explained ? 0 : 1;
      }
    }
  }
  After(false, false);
  return true;
}

uint64_t Reporter::TakeOutLocked(const Pending& pending) {
  auto it = known_.find(pending.key);
  if (it == known_.end()) return 0;
  Known& note = it->second;
  const uint64_t times = std::min(note.times, pending.refusal.times);
  note.times -= times;
  note.count -= std::min(note.count, times);
  --note.objects;
  const bool last = note.objects == 0;
  if (!note.suppressed) {
    counts_.Remove(note.rule, note.severity, last ? 1 : 0, times);
  } else if (last) {
    --counts_.suppressed;
  }
  if (!last) return 0;
  const uint64_t shown = note.shown;
  LetGoLocked(&note);
  known_.erase(it);
  return shown;
}

void Reporter::SayRefusal(Finding finding, uint64_t serial, const Refusal& refusal) {
  PutIntoWords(&finding);
  const uint64_t key = RefusalKey(finding, refusal.explained);
  {
    QuietScope quiet;
    ReportFrames frames(depot_, modules_, options_.symbolize);
    MutexLock lock(&mutex_);
    NameInjected(&finding);
    Suppress(&finding, frames.get());
    Refusal all = refusal;
    all.times = 1;
    all.unexplained = refusal.explained ? 0 : 1;
    uint64_t shown_before = 0;
    if (auto it = pending_.find(serial); it != pending_.end()) {
      all.times += it->second.refusal.times;
      all.unexplained += it->second.refusal.unexplained;
      shown_before = TakeOutLocked(it->second);
    }
    finding.times = finding.count = all.times;
    bool fresh = false;
    Known* known = AddLocked(finding, key, &fresh);
    if (known != nullptr) {
      ++known->objects;
      known->shown += shown_before;
    }
    pending_[serial] = {key, all};
    if (fresh) {
      finding.times = finding.count = 1;
      WriteLocked({finding}, std::string(), frames.get());
      if (known != nullptr && !known->suppressed) ++known->shown;
    }
  }
  After(false, false);
}

bool Reporter::RefusalOf(uint64_t serial, Refusal* refusal) {
  MutexLock lock(&mutex_);
  auto it = pending_.find(serial);
  if (it == pending_.end()) return false;
  *refusal = it->second.refusal;
  return true;
}

void Reporter::Resolve(uint64_t serial, const Statement& how) {
  MutexLock lock(&mutex_);
  auto it = pending_.find(serial);
  if (it == pending_.end()) return;
  if (auto known = known_.find(it->second.key); known != known_.end()) {
    ++known->second.resolved;
    known->second.how = Words(how);
  }
  pending_.erase(it);
}

bool Reporter::CountHardened(const Finding& like, uint64_t serial) {
  bool error = false;
  {
    MutexLock lock(&mutex_);
    auto it = pending_.find(serial);
    if (it == pending_.end()) return true;
    const uint64_t key = RefusalKey(like, it->second.refusal.unexplained == 0);
    auto known = known_.find(key);
    if (known == known_.end()) return false;
    // Of what one call of a library left behind, only the first is said, with the others' verbs in the JSON report.
    const bool one_cause = std::any_of(like.stacks.begin(), like.stacks.end(), [this](const StackRef& stack) {
      return stack.role == StackRole::kHere && CauseOf(stack.id) != 0;
    });
    if (!one_cause && !known->second.suppressed && known->second.shown < kTextsOfEqualFindings) return false;
    const Pending pending = it->second;
    pending_.erase(it);
    TakeOutLocked(pending);
    Finding one = like;
    one.count = pending.refusal.times;
    bool fresh = false;
    Known* added = AddLocked(one, key, &fresh);
    ++added->objects;
    if (added->finding != nullptr) AddVerb(added->finding.get(), like.verb);
    error = !added->suppressed;
  }
  After(error, false);
  return true;
}

void Reporter::Harden(Finding finding, uint64_t serial) {
  PutIntoWords(&finding);
  bool error = false;
  {
    QuietScope quiet;
    ReportFrames frames(depot_, modules_, options_.symbolize);
    MutexLock lock(&mutex_);
    auto it = pending_.find(serial);
    if (it == pending_.end()) return;
    const Pending pending = it->second;
    pending_.erase(it);
    const uint64_t key = RefusalKey(finding, pending.refusal.unexplained == 0);
    NameInjected(&finding);
    Suppress(&finding, frames.get());
    error = finding.suppressed_by.empty();
    Finding kept = finding;
    kept.count = pending.refusal.times;
    // What the note said of this object stays said in the JSON report.
    if (auto known = known_.find(pending.key); known != known_.end() && known->second.finding != nullptr) {
      const Finding& note = *known->second.finding;
      if (note.has_object && note.object.serial == serial) {
        kept.hints.insert(kept.hints.begin(), note.hints.begin(), note.hints.end());
        if (kept.related.empty()) {
          kept.related = note.related;
          kept.unlisted = note.unlisted;
        }
      }
    }
    TakeOutLocked(pending);
    bool fresh = false;
    Known* known = AddLocked(kept, key, &fresh);
    if (known != nullptr) ++known->objects;
    if (known == nullptr || known->shown < kTextsOfEqualFindings) {
      WriteLocked({finding}, std::string(), frames.get());
      if (known != nullptr && error) ++known->shown;
    }
  }
  After(error, false);
}

// ---- one finding for each subject

void Reporter::SayOnce(Finding finding, uint64_t subject) {
  PutIntoWords(&finding);
  const uint64_t key = Mixed(KeyOf(finding), subject);
  bool error = false;
  {
    QuietScope quiet;
    ReportFrames frames(depot_, modules_, options_.symbolize);
    MutexLock lock(&mutex_);
    if (subjects_.find(subject) != subjects_.end()) return;
    subjects_[subject] = key;
    NameInjected(&finding);
    Suppress(&finding, frames.get());
    error = finding.severity == Severity::kError && finding.suppressed_by.empty();
    bool fresh = false;
    Known* known = AddLocked(finding, key, &fresh);
    WriteLocked({finding}, std::string(), frames.get());
    if (known != nullptr && !known->suppressed) ++known->shown;
  }
  After(error, false);
}

bool Reporter::Again(uint64_t subject, int result) {
  MutexLock lock(&mutex_);
  auto it = subjects_.find(subject);
  if (it == subjects_.end()) return false;
  auto known = known_.find(it->second);
  if (known == known_.end()) return true;
  ++known->second.count;
  if (known->second.finding != nullptr) known->second.finding->result = result;
  json_behind_ = true;
  return true;
}

bool Reporter::Complete(uint64_t subject, Finding more) {
  PutIntoWords(&more);
  MutexLock lock(&mutex_);
  auto it = subjects_.find(subject);
  if (it == subjects_.end()) return false;
  auto known = known_.find(it->second);
  json_behind_ = true;
  if (known == known_.end() || known->second.finding == nullptr) return true;
  Finding& finding = *known->second.finding;
  related_kept_ -= finding.related.size();
  for (Related& each : more.related) finding.related.push_back(std::move(each));
  for (Unlisted& each : more.unlisted) finding.unlisted.push_back(std::move(each));
  ListFewer(&finding, related_kept_ + finding.related.size() > kMaxRelatedKept ? kRelatedBeyond : kMaxRelated);
  related_kept_ += finding.related.size();
  for (std::string& hint : more.hints) finding.hints.push_back(std::move(hint));
  return true;
}

// ---- counts

std::vector<Finding> Reporter::Findings() {
  Report report;
  MutexLock lock(&mutex_);
  BuildLocked(&report);
  return std::move(report.findings);
}

uint64_t Reporter::errors() {
  MutexLock lock(&mutex_);
  return counts_.Of(Severity::kError);
}

bool Reporter::anything() {
  MutexLock lock(&mutex_);
  return !known_.empty() || beyond_ > 0;
}

// ---- when it is written

void Reporter::After(bool error, bool urgent) {
  if (error && options_.halt_on_error) {
    Summarize();
    WriteJson(false, -1);
    abort();
  }
  if (!sink_.has_json() && !UnderRun()) return;
  {
    MutexLock lock(&mutex_);
    json_behind_ = true;
    error_waits_ |= error || urgent;
    if (!urgent && (!error_waits_ || NanosOf(CLOCK_MONOTONIC) < next_json_)) return;
  }
  WriteJson(false, -1);
}

bool Reporter::AnythingNotShown() {
  MutexLock lock(&mutex_);
  return std::any_of(known_.begin(), known_.end(), [](const auto& entry) {
    return !entry.second.suppressed && entry.second.times > entry.second.shown && entry.second.finding != nullptr;
  });
}

std::string Reporter::NotShownLocked(FrameSource* frames) {
  std::vector<const Known*> rest;
  for (const auto& [key, known] : known_) {
    if (!known.suppressed && known.times > known.shown) rest.push_back(&known);
  }
  std::sort(rest.begin(), rest.end(), [](const Known* a, const Known* b) { return a->order < b->order; });
  std::string text;
  size_t lines = 0;
  uint64_t others = 0, of_findings = 0;
  for (const Known* known : rest) {
    if (known->finding == nullptr || lines == kNotShownLines) {
      others += known->times - known->shown;
      ++of_findings;
      continue;
    }
    Finding finding = *known->finding;
    finding.times = known->times;
    finding.objects = known->objects;
    finding.resolved = known->resolved;
    text += NotShownLine(finding, known->times - known->shown, ProcessId(), *frames);
    ++lines;
  }
  if (others > 0) text += ToldLine(ProcessId(), Is<Sentence::kOthersNotShown>(others, of_findings));
  uint64_t not_kept = beyond_;
  for (const auto& [key, known] : known_) not_kept += known.finding == nullptr;
  if (not_kept > 0) text += ToldLine(ProcessId(), Is<Sentence::kNotListed>(not_kept, kMaxKept));
  return text;
}

void Reporter::Summarize(bool growth) {
  QuietScope quiet;
  Report report;
  if (growth) fill_(&report);  // not under the mutex: it asks the loader
  // What follows at the end of a process is the JSON report, of the same state.
  if (growth && (sink_.has_json() || UnderRun())) at_end_ = std::make_unique<Report>(report);
  ReportFrames frames(depot_, modules_, options_.symbolize && (!report.summary.growth.empty() || AnythingNotShown()));
  MutexLock lock(&mutex_);
  std::string summary = SummaryLine(counts_);
  if (summary.empty() || summarized_) return;
  summarized_ = true;
  sink_.WriteText(NotShownLocked(frames.get()) + WithGrowth(std::move(summary), report, frames.get()));
}

// Before the end of the line.
std::string Reporter::WithGrowth(std::string summary, const Report& report, FrameSource* frames) {
  if (report.summary.growth.empty()) return summary;
  summary.pop_back();
  for (const Growth& growth : report.summary.growth) {
    const std::vector<Frame> stack = frames->FramesOf(growth.stack);
    summary += stack.empty() ? Words(Is<Sentence::kGrowth>(growth.alive, growth.created, growth.kind))
                             : Words(Is<Sentence::kGrowthAt>(growth.alive, growth.created, growth.kind, TextOf(stack[0])));
  }
  return summary + "\n";
}

std::vector<std::string> Reporter::UnmatchedSuppressions() {
  MutexLock lock(&mutex_);
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
  report->summary.errors = counts_.Of(Severity::kError);
  report->summary.warnings = counts_.Of(Severity::kWarning);
  report->summary.notes = counts_.Of(Severity::kNote);
  report->summary.suppressed = counts_.suppressed;
  report->summary.not_listed = beyond_;
  std::vector<const Known*> kept;
  for (const auto& [key, known] : known_) {
    if (known.finding != nullptr) {
      kept.push_back(&known);
    } else {
      ++report->summary.not_listed;
    }
  }
  std::sort(kept.begin(), kept.end(), [](const Known* a, const Known* b) { return a->order < b->order; });
  report->summary.lost_texts = sink_.lost_texts();
  report->findings.reserve(kept.size());
  for (const Known* known : kept) {
    report->findings.push_back(*known->finding);
    Finding& finding = report->findings.back();
    finding.times = known->times;
    finding.count = known->count;
    finding.bytes = known->bytes;
    finding.objects = known->objects;
    finding.resolved = known->resolved;
    if (known->resolved == 0) continue;
    finding.hints.push_back(known->objects == 1
                                ? known->how
                                : Words(Is<Sentence::kSomeDestroyedLater>(known->resolved, known->objects)));
  }
}

void Reporter::WriteJson(bool ended, int exit_status, bool only_for_run) {
  const bool to_path = sink_.has_json() && !only_for_run;
  if (!to_path && !UnderRun()) return;
  if (!sink_.CanWriteJson()) return;  // before it is made: that alone asks the kernel for this and that
  QuietScope quiet;
  const uint64_t begin = NanosOf(CLOCK_MONOTONIC);
  Report report;
  if (ended && at_end_ != nullptr) {
    report = std::move(*at_end_);
    at_end_.reset();
  } else {
    fill_(&report);  // not under the mutex: it asks the loader
  }
  ReportFrames frames(depot_, modules_, options_.symbolize);
  MutexLock lock(&mutex_);
  report.process.ended = ended ? EpochNow() : 0;
  report.process.exit_status = exit_status;
  BuildLocked(&report);
  const std::string document = JsonOf(report, *frames.get());
  if (to_path) sink_.ReplaceJson(document);
  if (UnderRun()) sink_.ReplaceAndTell(RunReportPath(), document);
  json_behind_ = error_waits_ = false;
  const uint64_t now = NanosOf(CLOCK_MONOTONIC);
  next_json_ = now + std::max(kSecond, kJsonShare * (now - begin));
}

void Reporter::WriteJsonIfBehind() {
  {
    MutexLock lock(&mutex_);
    if (!json_behind_) return;
  }
  WriteJson(false, -1);
}

int Reporter::WriteSnapshot(const std::string& path) {
  if (!sink_.CanWriteJson()) return EPERM;
  int error;
  {
    QuietScope quiet;
    Report report;
    fill_(&report);
    ReportFrames frames(depot_, modules_, options_.symbolize);
    MutexLock lock(&mutex_);
    BuildLocked(&report);
    error = sink_.ReplaceAndTell(path, JsonOf(report, *frames.get()));
  }
  WriteJsonIfBehind();
  return error;
}

void Reporter::WriteNextSnapshot() {
  const std::string path = NextSnapshotPath();
  if (WriteSnapshot(path) != 0) return;
  RunMarkSnapshot(path.c_str());
  Tell(Is<Sentence::kSnapshotWritten>(path));
}

std::string Reporter::NextSnapshotPath() {
  MutexLock lock(&mutex_);
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
