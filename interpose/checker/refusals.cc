// Refused destroys: a note each, until it is known whether a later try succeeded.
#include <algorithm>
#include <functional>

#include "interpose/base/quiet_lock.h"
#include "interpose/checker/depot_frames.h"
#include "interpose/checker/injected.h"
#include "interpose/checker/reporter.h"
#include "report/quiet_scope.h"

namespace rdmacheck {
namespace {

// A finding that stands for refusals by several verbs names them.
void AddVerb(Finding* finding, const std::string& verb) {
  if (finding->verb == verb) return;
  const std::string also = Words(Is<Sentence::kAlsoRefused>(verb));
  if (std::find(finding->hints.begin(), finding->hints.end(), also) == finding->hints.end()) {
    finding->hints.push_back(also);
  }
}

}  // namespace

// Several refusals inside one call of a library (librdmacm destroys a QP, then its CQs and their channels) have one
// cause: what the program called, and from where. 0: the program's own destroy.
uint64_t Reporter::CauseOf(StackId here) const {
  const StackDepot::Node* node = depot_->Get(here);
  if (node == nullptr || node->owner == Module::Owner::kProgram) return 0;
  int first = 0;
  while (first < node->depth && modules_->Get(node->places[first].module).owner != Module::Owner::kProgram) ++first;
  if (first == node->depth) return 0;
  uint64_t cause = 1;
  for (int i = first; i < node->depth; ++i) cause = MixKeys(cause, reinterpret_cast<uintptr_t>(node->pcs[i]));
  return cause | 1;
}

uint64_t Reporter::RefusalKey(const Finding& like, bool explained) const {
  uint64_t cause = 0;
  for (const StackRef& stack : like.stacks) {
    if (stack.role == StackRole::kHere) cause = CauseOf(stack.id);
  }
  uint64_t key = KeyOf(like);
  if (cause != 0) {
    key = MixKeys(cause, static_cast<uint64_t>(like.rule) * 4 + static_cast<uint64_t>(like.severity));
    key = MixKeys(key, std::hash<std::string>()(like.object.device));
  }
  return MixKeys(key, explained ? 1 : 2);
}

bool Reporter::CountRefusal(const Finding& like, uint64_t serial, const Refusal& refusal) {
  const uint64_t key = RefusalKey(like, refusal.explained);
  {
    QuietLock lock(&mutex_);
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
    KnownFinding* known = findings_.Find(it != pending_.end() ? it->second.key : key);
    if (known == nullptr && it == pending_.end()) return false;
    findings_.CountAgain(known, like.rule, like.severity);
    if (known != nullptr) {
      if (known->finding != nullptr) {
        if (known->objects == 1 && it != pending_.end()) known->finding->result = refusal.result;
        AddVerb(known->finding.get(), like.verb);
      }
      if (it == pending_.end()) {
        ++known->objects;
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

void Reporter::SayRefusal(Finding finding, uint64_t serial, const Refusal& refusal) {
  PutIntoWords(&finding);
  const uint64_t key = RefusalKey(finding, refusal.explained);
  {
    QuietScope quiet;
    ReportFrames frames(depot_, modules_, options_, options_.symbolize);
    QuietLock lock(&mutex_);
    NameInjected(&finding);
    Suppress(&finding, frames.get());
    Refusal all = refusal;
    all.times = 1;
    all.unexplained = refusal.explained ? 0 : 1;
    uint64_t shown_before = 0;
    if (auto it = pending_.find(serial); it != pending_.end()) {
      all.times += it->second.refusal.times;
      all.unexplained += it->second.refusal.unexplained;
      shown_before = findings_.TakeOut(it->second.key, it->second.refusal.times);
    }
    finding.times = finding.count = all.times;
    bool fresh = false;
    KnownFinding* known = findings_.Add(finding, key, &fresh);
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
  QuietLock lock(&mutex_);
  auto it = pending_.find(serial);
  if (it == pending_.end()) return false;
  *refusal = it->second.refusal;
  return true;
}

void Reporter::Settle(uint64_t serial, const Statement& how) {
  QuietLock lock(&mutex_);
  auto it = pending_.find(serial);
  if (it == pending_.end()) return;
  if (KnownFinding* known = findings_.Find(it->second.key)) {
    ++known->resolved;
    known->how = Words(how);
  }
  pending_.erase(it);
}

bool Reporter::CountEscalated(const Finding& like, uint64_t serial) {
  bool error = false;
  {
    QuietLock lock(&mutex_);
    auto it = pending_.find(serial);
    if (it == pending_.end()) return true;
    const uint64_t key = RefusalKey(like, it->second.refusal.unexplained == 0);
    const KnownFinding* known = findings_.Find(key);
    if (known == nullptr) return false;
    // Of what one call of a library left behind, only the first is said, with the others' verbs in the JSON report.
    const bool one_cause = std::any_of(like.stacks.begin(), like.stacks.end(), [this](const StackRef& stack) {
      return stack.role == StackRole::kHere && CauseOf(stack.id) != 0;
    });
    if (!one_cause && !known->suppressed && known->shown < kTextsOfEqualFindings) return false;
    const Pending pending = it->second;
    pending_.erase(it);
    findings_.TakeOut(pending.key, pending.refusal.times);
    Finding one = like;
    one.count = pending.refusal.times;
    bool fresh = false;
    KnownFinding* added = findings_.Add(one, key, &fresh);
    ++added->objects;
    if (added->finding != nullptr) AddVerb(added->finding.get(), like.verb);
    error = !added->suppressed;
  }
  After(error, false);
  return true;
}

void Reporter::Escalate(Finding finding, uint64_t serial) {
  PutIntoWords(&finding);
  bool error = false;
  {
    QuietScope quiet;
    ReportFrames frames(depot_, modules_, options_, options_.symbolize);
    QuietLock lock(&mutex_);
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
    if (const KnownFinding* known = findings_.Find(pending.key); known != nullptr && known->finding != nullptr) {
      const Finding& note = *known->finding;
      if (note.has_object && note.object.serial == serial) {
        kept.hints.insert(kept.hints.begin(), note.hints.begin(), note.hints.end());
        if (kept.related.empty()) {
          kept.related = note.related;
          kept.unlisted = note.unlisted;
        }
      }
    }
    findings_.TakeOut(pending.key, pending.refusal.times);
    bool fresh = false;
    KnownFinding* known = findings_.Add(kept, key, &fresh);
    if (known != nullptr) ++known->objects;
    if (known == nullptr || known->shown < kTextsOfEqualFindings) {
      WriteLocked({finding}, std::string(), frames.get());
      if (known != nullptr && error) ++known->shown;
    }
  }
  After(error, false);
}

}  // namespace rdmacheck
