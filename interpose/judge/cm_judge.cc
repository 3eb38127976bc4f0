#include "interpose/judge/cm_judge.h"

#include <algorithm>

#include "interpose/base/quiet_lock.h"
#include "interpose/judge/leaks.h"
#include "interpose/judge/objects.h"
#include "interpose/judge/state.h"
#include "interpose/judge/watcher.h"
#include "interpose/base/clock.h"
#include "interpose/checker/checker.h"
#include "report/field_names.h"

namespace rdmacheck {
namespace {

void DropDestroyed(Checker& checker, JudgeState& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state.left_mutex) {
  auto gone = [&checker](const QpLeft& qp) {
    const Record now = checker.ledger().Get(qp.slot);
    return now.serial != qp.serial || (now.life != Life::kLive && now.life != Life::kDying);
  };
  std::vector<QpLeft>& left = state.qps_left;
  left.erase(std::remove_if(left.begin(), left.end(), gone), left.end());
}

std::vector<Record> ChildrenOfKind(Ledger& ledger, Slot slot, std::initializer_list<Kind> kinds) {
  std::vector<Record> children;
  if (!ledger.HasChildren(slot)) return children;
  for (Record& child : ledger.ChildrenOf(slot)) {
    if (std::find(kinds.begin(), kinds.end(), child.kind) != kinds.end()) children.push_back(std::move(child));
  }
  return children;
}

void Describe(Checker& checker, Finding* finding, const Record& record, const std::vector<Record>& children, Role role) {
  SetObject(checker, finding, record);
  AddRelated(checker, finding, role, children);
}

// Events that are owed to this id by their acks. Says the finding that fits; true if the call may wait.
bool SayUnackedOf(Call& call, const Record& record, const std::vector<Record>& events) {
  Checker& checker = call.checker();
  bool own = false, all_gone = true;
  std::vector<ThreadRef> takers;
  std::vector<std::string> names;
  for (const Record& event : events) {
    const ThreadRef thread = DescribeThread(event.thread);
    own |= event.thread == call.tid();
    all_gone &= thread.exited;
    const std::string name = CmEventName(static_cast<int>(event.numbers.a));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    const auto same = [&thread](const ThreadRef& known) { return known.tid == thread.tid; };
    if (std::none_of(takers.begin(), takers.end(), same)) takers.push_back(thread);
  }
  if (!own && !all_gone) return true;
  Finding finding = own ? FindingOf(Rule::kSelfDeadlock, call, Is<Sentence::kCmOwnEvent>(events.size(), std::move(names)))
                        : FindingOf(Rule::kCmUnackedEvent, call,
                                    Is<Sentence::kCmThreadExited>(events.size(), std::move(names)));
  Describe(checker, &finding, record, events, Role::kHolder);
  for (const Record& event : events) {
    if (event.stack != 0 && finding.stacks.size() < 6) finding.stacks.push_back({StackRole::kEventTaken, event.stack});
    const int status = static_cast<int>(event.numbers.b);
    const char* const name = CmEventName(static_cast<int>(event.numbers.a));
    if (status > 0) finding.adds.push_back(Is<Sentence::kCmEventStatus>(name, status));
    if (status < 0) finding.adds.push_back(Is<Sentence::kCmEventStatusErrno>(name, Errno{-status}));
  }
  finding.adds.push_back(Is<Sentence::kReceivedBy>(std::move(takers)));
  checker.reporter().Say(std::move(finding));
  return true;
}

bool IsJudged(Call& call, const Record& record) {
  return !call.ignored() && !record.Has(kIgnored) && !record.Has(kInherited) && record.origin != Origin::kUnknown &&
         IsProgramsOwn(call.checker(), record);
}

}  // namespace

void NoteCmId(Call& call, uintptr_t id, uintptr_t channel) {
  Ledger& ledger = call.checker().ledger();
  if (ledger.Find(Kind::kCmId, id).standing == Standing::kLive) return;
  Pins pins;
  const Found on = channel == 0 ? Found() : ledger.Pin(Kind::kCmChannel, channel);
  if (on.slot != 0) pins.push_back(on.slot);
  EndCreate(call, Kind::kCmId, id, {}, Origin::kCreated, 0, &pins);
}

void NoteCmBelongings(Call& call, uintptr_t id, const CmBelongings& belongings) {
  Ledger& ledger = call.checker().ledger();
  const Found owner = ledger.Pin(Kind::kCmId, id);
  if (owner.slot == 0) return;
  for (int i = 0; i < belongings.count; ++i) {
    const Argument& object = belongings.objects[i];
    const Found found = ledger.Pin(object.kind, object.handle);
    if (found.slot == 0) continue;
    const Record record = ledger.Get(found.slot);
    const bool linked = std::find(record.parents.begin(), record.parents.end(), owner.slot) != record.parents.end();
    // A CQ that the program made and gave to the id stays the program's; the QP and SRQ are the id's in any case.
    const bool is_ids = object.kind == Kind::kQp || object.kind == Kind::kSrq || !IsProgramsOwn(call.checker(), record);
    if (!linked && is_ids) {
      const Found pin = ledger.Pin(Kind::kCmId, id);
      if (pin.slot != 0) ledger.Reparent(found.slot, 0, pin.slot);
      const StackDepot::Node* node = call.checker().depot().Get(record.stack);
      if (node != nullptr && StackDepot::SetForProgram(*node)) CountCreated(call.self(), record.kind);
    }
    ledger.Unpin(found.slot);
  }
  ledger.Unpin(owner.slot);
}

void NoteCmEvent(Call& call, uintptr_t event, uintptr_t id, uintptr_t waits, uintptr_t channel, int type, int status) {
  Ledger& ledger = call.checker().ledger();
  Pins pins;
  for (uintptr_t handle : {waits, id}) {
    if (handle == 0 || (handle == id && handle == waits && !pins.empty())) continue;
    const Found found = ledger.Pin(Kind::kCmId, handle);
    if (found.slot != 0) pins.push_back(found.slot);
    if (handle == waits && id != waits) break;  // the destroy of a requested id does not wait for its request's ack
  }
  const Found on = ledger.Pin(Kind::kCmChannel, channel);
  if (on.slot != 0) pins.push_back(on.slot);
  EndCreate(call, Kind::kCmEvent, event, {static_cast<uint64_t>(type), static_cast<uint64_t>(static_cast<uint32_t>(status)), 0},
            Origin::kCreated, 0, &pins);
}

void JudgeCmId(Call& call, Slot id, bool qp_left) {
  Checker& checker = call.checker();
  Ledger& ledger = checker.ledger();
  const Record record = ledger.Get(id);
  if (!IsJudged(call, record)) return;
  const std::vector<Record> events = ChildrenOfKind(ledger, id, {Kind::kCmEvent});
  if (!events.empty() && SayUnackedOf(call, record, events) && call.self() != nullptr &&
      call.self()->activity.load() == Activity::kRelease && !checker.options().hang_timeout_given) {
    BeginWatch(call, id);
  }
  if (!qp_left) return;
  std::vector<Record> queues = ChildrenOfKind(ledger, id, {Kind::kQp, Kind::kSrq});
  // One whose destroy was tried and refused has that said of it already.
  queues.erase(std::remove_if(queues.begin(), queues.end(), [](const Record& r) { return r.Has(kRefused); }), queues.end());
  if (queues.empty()) return;
  const std::vector<Record> left = ChildrenOfKind(ledger, id, {Kind::kQp, Kind::kSrq, Kind::kCq, Kind::kCompChannel});
  for (const Record& queue : queues) {
    Finding finding = FindingOf(Rule::kCmQpLeft, call, Is<Sentence::kCmQpLeft>(Describe(checker, queue)));
    Describe(checker, &finding, record, left, Role::kChild);
    JudgeState& state = checker.judges();
    QuietLock lock(&state.left_mutex);
    // Those that were destroyed after all are let go now and then, so that a long life of such ids costs nothing.
    if (state.qps_left.size() >= 64) DropDestroyed(checker, state);
    state.qps_left.push_back({queue.slot, queue.serial, std::move(finding)});
  }
}

void JudgeQpsLeftAtExit(Checker& checker) {
  std::vector<QpLeft> left;
  {
    JudgeState& state = checker.judges();
    QuietLock lock(&state.left_mutex);
    DropDestroyed(checker, state);
    left.swap(state.qps_left);
  }
  for (QpLeft& qp : left) checker.reporter().Say(std::move(qp.finding));
}

void JudgeCmChannel(Call& call, Slot channel) {
  Checker& checker = call.checker();
  Ledger& ledger = checker.ledger();
  const Record record = ledger.Get(channel);
  if (!IsJudged(call, record)) return;
  const std::vector<Record> events = ChildrenOfKind(ledger, channel, {Kind::kCmEvent});
  if (!events.empty()) {
    Finding finding = FindingOf(Rule::kCmUnackedEvent, call, Is<Sentence::kCmEventsLost>(events.size()));
    Describe(checker, &finding, record, events, Role::kHolder);
    for (const Record& event : events) {
      if (event.stack != 0 && finding.stacks.size() < 6) finding.stacks.push_back({StackRole::kEventTaken, event.stack});
    }
    checker.reporter().Say(std::move(finding));
  }
  std::vector<Record> ids = ChildrenOfKind(ledger, channel, {Kind::kCmId});
  ids.erase(std::remove_if(ids.begin(), ids.end(), [&](const Record& r) { return !IsJudged(call, r); }), ids.end());
  if (ids.empty()) return;
  const Record* context = nullptr;
  std::vector<Finding> findings =
      LeakFindings(checker, Rule::kCmIdLeak, Severity::kError, ids, context, call.verb(), call.StackId());
  for (Finding& finding : findings) {
    finding.says = {Is<Sentence::kCmIdsLeft>(finding.count)};
    finding.related.push_back({Role::kHolder, Describe(checker, record)});
  }
  for (const Record& id : ids) ledger.SetFlags(id.slot, kTold);
  checker.reporter().Say(std::move(findings), Is<Sentence::kCmIdsUseIt>(ids.size()));
}

void ForgetCmId(Call& call, Slot id) {
  // Destroying an id leaves its groups; an event that a lost channel kept goes with nobody.
  for (const Record& child : ChildrenOfKind(call.checker().ledger(), id, {Kind::kMcast, Kind::kCmEvent})) {
    call.checker().ledger().Forget(child.slot);
  }
}

}  // namespace rdmacheck
