#include "interpose/checker/finding_store.h"

#include <algorithm>
#include <functional>

#include "report/sentences.h"

namespace rdmacheck {
namespace {

constexpr size_t kMaxRelatedKept = 20000;  // of all findings
constexpr size_t kRelatedBeyond = 5;       // what a finding lists when these are used up

uint64_t HashOf(const std::string& text) { return std::hash<std::string>()(text); }

// What gives way first when there are too many findings.
size_t WeightOf(Severity severity, bool suppressed) { return suppressed ? 0 : static_cast<size_t>(severity); }

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

bool FirstCameBefore(const KnownFinding* a, const KnownFinding* b) { return a->order < b->order; }

}  // namespace

uint64_t MixKeys(uint64_t key, uint64_t value) { return (key ^ value) * 0x9E3779B97F4A7C15u + (key >> 31); }

uint64_t KeyOf(const Finding& finding) {
  uint64_t key = static_cast<uint64_t>(finding.rule) * 4 + static_cast<uint64_t>(finding.severity) + 1;
  key = MixKeys(key, HashOf(finding.has_object ? finding.object.kind : std::string()));
  key = MixKeys(key, HashOf(finding.has_object ? finding.object.device : std::string()));
  key = MixKeys(key, HashOf(finding.verb));
  for (const StackRef& stack : finding.stacks) key = MixKeys(key, static_cast<uint64_t>(stack.role) << 32 | stack.id);
  return key;
}

KnownFinding* FindingStore::Find(uint64_t key) {
  auto it = known_.find(key);
  return it == known_.end() ? nullptr : &it->second;
}

KnownFinding* FindingStore::Add(const Finding& finding, uint64_t key, bool* fresh) {
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
  KnownFinding& known = *fresh ? known_[key] : it->second;
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
  if (*fresh) Keep(&known, finding);  // last: it may find that memory is out, and counted it is all the same
  return &known;
}

void FindingStore::CountAgain(KnownFinding* known, Rule rule, Severity severity) {
  if (known == nullptr) return counts_.Add(rule, severity, 0, 1);
  ++known->times;
  ++known->count;
  if (!known->suppressed) counts_.Add(known->rule, known->severity, 0, 1);
}

uint64_t FindingStore::TakeOut(uint64_t key, uint64_t all_times) {
  auto it = known_.find(key);
  if (it == known_.end()) return 0;
  KnownFinding& note = it->second;
  const uint64_t times = std::min(note.times, all_times);
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
  LetGo(&note);
  known_.erase(it);
  return shown;
}

void FindingStore::Keep(KnownFinding* known, const Finding& finding) {
  const size_t weight = WeightOf(known->severity, known->suppressed);
  const bool error = weight == static_cast<size_t>(Severity::kError);
  // An error unlike all others is kept in any case: rules, verbs and kinds are few.
  const bool new_kind = error && kinds_kept_
                                     .insert(MixKeys(MixKeys(static_cast<uint64_t>(finding.rule) + 1, HashOf(finding.verb)),
                                                     HashOf(finding.object.kind)))
                                     .second;
  if (kept_[0] + kept_[1] + kept_[2] >= kMaxKept) {
    KnownFinding* victim = nullptr;
    for (size_t less = 0; less < weight && victim == nullptr; ++less) {
      if (kept_[less] == 0) continue;
      for (auto& [key, other] : known_) {
        if (other.finding == nullptr || WeightOf(other.severity, other.suppressed) != less) continue;
        if (victim == nullptr || other.order > victim->order) victim = &other;
      }
    }
    if (victim != nullptr) {
      LetGo(victim);
    } else if (!new_kind) {
      return;
    }
  }
  known->finding = std::make_unique<Finding>(finding);
  List(known->finding.get(), known->finding->related.size());
  ++kept_[weight];
}

void FindingStore::List(Finding* finding, size_t usual) {
  ListFewer(finding, related_kept_ + finding->related.size() > kMaxRelatedKept ? kRelatedBeyond : usual);
  related_kept_ += finding->related.size();
}

void FindingStore::LetGo(KnownFinding* known) {
  if (known->finding == nullptr) return;
  related_kept_ -= known->finding->related.size();
  --kept_[WeightOf(known->severity, known->suppressed)];
  known->finding.reset();
}

void FindingStore::AddDetail(KnownFinding* known, Finding more) {
  if (known->finding == nullptr) return;
  Finding& finding = *known->finding;
  related_kept_ -= finding.related.size();
  for (Related& each : more.related) finding.related.push_back(std::move(each));
  for (Unlisted& each : more.unlisted) finding.unlisted.push_back(std::move(each));
  List(&finding, kMaxRelated);
  for (std::string& hint : more.hints) finding.hints.push_back(std::move(hint));
}

std::vector<const KnownFinding*> FindingStore::NotShown() const {
  std::vector<const KnownFinding*> rest;
  for (const auto& [key, known] : known_) {
    if (!known.suppressed && known.times > known.shown) rest.push_back(&known);
  }
  std::sort(rest.begin(), rest.end(), &FirstCameBefore);
  return rest;
}

uint64_t FindingStore::NotKept() const {
  uint64_t not_kept = beyond_;
  for (const auto& [key, known] : known_) not_kept += known.finding == nullptr;
  return not_kept;
}

void FindingStore::Fill(Report* report) const {
  report->summary.errors = counts_.Of(Severity::kError);
  report->summary.warnings = counts_.Of(Severity::kWarning);
  report->summary.notes = counts_.Of(Severity::kNote);
  report->summary.suppressed = counts_.suppressed;
  report->summary.not_listed = NotKept();
  std::vector<const KnownFinding*> kept;
  for (const auto& [key, known] : known_) {
    if (known.finding != nullptr) kept.push_back(&known);
  }
  std::sort(kept.begin(), kept.end(), &FirstCameBefore);
  report->findings.reserve(kept.size());
  for (const KnownFinding* known : kept) {
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

}  // namespace rdmacheck
