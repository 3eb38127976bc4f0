// Rules about destroying: double-destroy, use-after-close, null-handle, foreign-process before the call; busy-destroy,
// mcast-attached, destroyed-before-child and alive-after-device-loss by its result.
#include <errno.h>

#include <algorithm>

#include "interpose/judge/device_loss.h"
#include "interpose/judge/event_rules.h"
#include "interpose/judge/faults.h"
#include "interpose/judge/judge.h"
#include "interpose/judge/leaks.h"
#include "interpose/judge/objects.h"
#include "interpose/base/clock.h"
#include "interpose/checker/checker.h"
#include "report/modules.h"

namespace rdmacheck {
namespace {

// Everything that hangs on the object, what must go first in front: the children of children before the children.
std::vector<Record> RootCausesOf(Ledger& ledger, Slot slot) {
  std::vector<Record> all = ledger.All();
  all.erase(std::remove_if(all.begin(), all.end(), [](const Record& r) { return r.life == Life::kZombie; }), all.end());
  std::vector<Slot> layer{slot};
  std::vector<std::vector<Record>> layers;
  std::vector<Slot> seen{slot};
  while (!layer.empty() && layers.size() < 8) {
    std::vector<Record> next;
    for (const Record& record : all) {
      if (std::find(seen.begin(), seen.end(), record.slot) != seen.end()) continue;
      for (Slot parent : record.parents) {
        if (std::find(layer.begin(), layer.end(), parent) == layer.end()) continue;
        next.push_back(record);
        seen.push_back(record.slot);
        break;
      }
    }
    layer.clear();
    for (const Record& record : next) layer.push_back(record.slot);
    if (!next.empty()) layers.push_back(std::move(next));
  }
  std::vector<Record> causes;
  for (auto it = layers.rbegin(); it != layers.rend(); ++it) causes.insert(causes.end(), it->begin(), it->end());
  return causes;
}

// Which of the program's modules made the children: a shared PD whose users do not know of each other (field case B33).
void AddModules(Checker& checker, Finding* finding, const std::vector<Record>& children) {
  KindCounts modules;
  for (const Record& child : children) {
    const StackDepot::Node* node = checker.depot().Get(child.stack);
    if (node == nullptr || node->depth == 0) continue;
    const std::string path = checker.modules().Get(node->places[0].module).path;
    modules.Add(std::string(LastPart(path)));
  }
  if (modules.counts().size() < 2) return;
  finding->adds.push_back(Is<Sentence::kCreatedByModules>(modules.counts().size(), modules));
}

// What may use the object although no child of it is tracked.
void AddUnknowns(Checker& checker, Finding* finding, const Record& record) {
  AddUnexplained(checker, finding, record.kind);
  if (record.kind != Kind::kMr || record.parents.empty()) return;
  std::vector<Record> windows;
  for (Record& sibling : checker.ledger().ChildrenOf(record.parents[0])) {
    if (sibling.kind == Kind::kMw) windows.push_back(sibling);
  }
  if (windows.empty()) return;
  finding->adds.push_back(Is<Sentence::kWindowsMayBeBound>(windows.size()));
  AddRelated(checker, finding, Role::kHolder, windows);
}

// A refused MR may have a window bound, for which the kernel returns EINVAL as well as EBUSY.
bool IsBusy(Kind kind, int error) { return error == EBUSY || (kind == Kind::kMr && error == EINVAL); }

// The QP is attached to groups: its own rule, and nothing else is said of this refusal.
bool SayAttached(Call& call, const Record& record, int error) {
  Checker& checker = call.checker();
  std::vector<Record> groups;
  for (Record& child : checker.ledger().ChildrenOf(record.slot)) {
    if (child.kind == Kind::kMcast) groups.push_back(std::move(child));
  }
  if (groups.empty()) return false;
  Finding finding = FindingOf(Rule::kMcastAttached, call, Is<Sentence::kAttachedRefused>(groups.size()));
  SetObject(checker, &finding, record);
  finding.object.remark.clear();
  finding.has_result = true;
  finding.result = error;
  AddRelated(checker, &finding, Role::kChild, groups);
  checker.reporter().Say(std::move(finding));
  return true;
}

// `had_children`: when the call began. By its end another thread may have destroyed what it was refused for.
void SayRefused(Call& call, const Record& record, int error, bool had_children) {
  Checker& checker = call.checker();
  const bool has_children = checker.ledger().HasChildren(record.slot);
  if (record.kind == Kind::kQp && has_children && SayAttached(call, record, error)) return;
  Refusal refusal;
  refusal.verb = call.verb();
  refusal.result = error;
  refusal.stack = call.StackId();
  refusal.when = NowStamp();
  refusal.explained = had_children || has_children;
  // Said already, of this object or an equal one: only that it happened again is kept. A loop of retries must not walk
  // the ledger each time, nor ask for names.
  Finding finding;
  finding.rule = Rule::kBusyDestroy;
  finding.severity = InfoOf(finding.rule).severity;
  finding.verb = call.verb();
  finding.has_object = true;
  finding.object.kind = NameOf(record.kind);
  finding.object.device = DeviceOf(checker, record);
  if (refusal.stack != 0) finding.stacks.push_back({StackRole::kHere, refusal.stack});
  finding.stacks.push_back({StackRole::kCreated, record.stack});
  if (checker.reporter().CountRefusal(finding, record.serial, refusal)) return;

  const std::vector<Record> children = RootCausesOf(checker.ledger(), record.slot);
  refusal.explained = had_children || !children.empty();
  finding.time = EpochNow();
  finding.thread = DescribeThread(call.tid());
  finding.object = Describe(checker, record);
  finding.object.remark.clear();
  finding.says.push_back(!children.empty() ? Is<Sentence::kBusyByChildren>(CountKinds(children), children.size())
                         : had_children    ? Is<Sentence::kBusyMeanwhile>()
                                           : Is<Sentence::kBusyUnexplained>());
  finding.has_result = true;
  finding.result = error;
  AddRelated(checker, &finding, Role::kChild, children);
  AddModules(checker, &finding, children);
  if (!refusal.explained) AddUnknowns(checker, &finding, record);
  checker.reporter().SayRefusal(std::move(finding), record.serial, refusal);
}

void SayBeforeChild(Call& call, const Record& record, const std::vector<Record>& children) {
  Checker& checker = call.checker();
  const bool mcast = record.kind == Kind::kQp &&
                     std::any_of(children.begin(), children.end(), [](const Record& r) { return r.kind == Kind::kMcast; });
  Finding finding = mcast ? FindingOf(Rule::kMcastAttached, call, Is<Sentence::kAttachedDestroyed>(children.size()))
                          : FindingOf(Rule::kDestroyedBeforeChild, call,
                                      Is<Sentence::kDestroyedBeforeChild>(CountKinds(children), children.size()));
  SetObject(checker, &finding, record);
  finding.object.remark.clear();
  AddRelated(checker, &finding, Role::kChild, children);
  checker.reporter().Say(std::move(finding));
}

}  // namespace

bool BeginDestroy(Call& call, Kind kind, uintptr_t handle, Destruction* destruction) {
  Checker& checker = call.checker();
  Ledger& ledger = checker.ledger();
  if (handle == 0) {
    SayNull(call, kind, NullIn::kDestroy);
    return false;
  }
  const Found found = ledger.BeginDestroy(kind, handle, call.tid());
  switch (found.standing) {
    case Standing::kUnknown:
      break;
    case Standing::kDead: {
      DeadRecord dead;
      if (!ledger.FindDead(kind, handle, &dead) || !IsStillDead(call.checker(), dead)) break;
      SayDead(call, dead, Fate::kDestroyRefused);
      if (!checker.options().forward_double_destroy) return false;
      break;
    }
    case Standing::kDying:
      SayDying(call, found.slot);
      if (!checker.options().forward_double_destroy) return false;
      break;
    case Standing::kLive:
      if ((found.flags & kClosed) != 0) {
        SayClosed(call, found.slot, Fate::kDestroyRefused);
        return false;
      }
      if ((found.flags & kInherited) != 0) SayForeign(call, found.slot);
      destruction->active = true;
      destruction->found = found;
      break;
  }
  if (destruction->active) {
    destruction->had_children = ledger.HasChildren(found.slot);
    BeforeDestroyOf(call, kind, handle, found.slot);
    JudgeWaiters(call, kind, handle, found.slot);
  }
  BeginDestroyActivity(call, kind, handle, found.slot);
  return true;
}

void EndDestroy(Call& call, Kind kind, Destruction* destruction, int error) {
  EndDestroyActivity(call, destruction->found.slot);
  if (!destruction->active) return;
  Checker& checker = call.checker();
  Ledger& ledger = checker.ledger();
  const Slot slot = destruction->found.slot;
  if (error != 0) {
    ledger.SetFailure(slot, call.verb(), error, call.StackId());
    ledger.SetFlags(slot, kRefused);
    const Record record = ledger.Get(slot);
    ledger.EndDestroy(slot, false, call.verb(), call.StackId(), call.tid());
    if (call.ignored() || record.Has(kIgnored)) return;
    if (error == EIO || (IsBusy(kind, error) && HeldByLost(checker, record))) {
      NoteLostDestroy(call, record, error);
    } else if (IsBusy(kind, error)) {
      SayRefused(call, record, error, destruction->had_children);
    }
    return;
  }
  const bool was_refused = (destruction->found.flags & kRefused) != 0;
  // A child that another thread is destroying right now was gone in the kernel before the parent could go.
  // Children are looked for only when the count says that there are any; creates under way count too, so it may be wrong.
  Record record;
  const bool told_refused = was_refused || ledger.HasChildren(slot);
  if (told_refused) record = ledger.Get(slot);
  std::vector<Record> children;
  // What a context leaves is told by its close.
  if (told_refused && record.children > 0 && kind != Kind::kContext) children = ledger.ChildrenOf(slot);
  children.erase(std::remove_if(children.begin(), children.end(),
                                [&](const Record& r) { return r.Has(kIgnored) || r.origin == Origin::kUnknown ||
                                                              r.life == Life::kDying ||
                                                              (r.kind == Kind::kDmabufFd && !FdIsOpen(r)) ||
                                                              (kind == Kind::kMr && r.kind == Kind::kMw); }),
                 children.end());
  ledger.EndDestroy(slot, true, call.verb(), call.StackId(), call.tid());
  if (was_refused) {
    checker.reporter().Settle(record.serial, Is<Sentence::kLaterTrySucceeded>(call.verb(), call.tid()));
  }
  if (!children.empty() && !call.ignored() && !record.Has(kIgnored)) {
    // A second handle (ibv_open_qp, imports) goes alone: the object, and what was made from it, lives on.
    const bool own_rule = kind == Kind::kContext || kind == Kind::kCmId || kind == Kind::kCmChannel;
    if (record.origin == Origin::kCreated && !own_rule) SayBeforeChild(call, record, children);
    for (const Record& child : children) {
      // What is no object of its own goes with its parent.
      if (child.kind == Kind::kMcast) ledger.Forget(child.slot);
    }
  }
}

}  // namespace rdmacheck
