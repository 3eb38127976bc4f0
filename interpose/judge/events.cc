// Rules about events: who took what, what a destroy would wait for, and the overlap that the man page forbids.
#include <errno.h>

#include <algorithm>
#include <new>

#include "interpose/judge/device_loss.h"
#include "interpose/base/quiet_lock.h"
#include "interpose/judge/event_rules.h"
#include "interpose/judge/faults.h"
#include "interpose/judge/judge.h"
#include "interpose/judge/objects.h"
#include "interpose/judge/state.h"
#include "interpose/judge/timeline.h"
#include "interpose/judge/watcher.h"
#include "interpose/base/clock.h"
#include "interpose/checker/checker.h"
#include "interpose/verbs/numbers.h"

namespace rdmacheck {
namespace {

// ---- the forbidden overlap

// A destroy of this thread, or a get of this thread, that overlapped others: seen at its begin, told at its end.
struct Overlaps {
  std::vector<ThreadState> others;
};
thread_local Overlaps* overlaps __attribute__((tls_model("initial-exec"))) = nullptr;

std::vector<ThreadState> OthersInside(const ThreadRecord* self, bool destroys) {
  std::vector<ThreadState> others;
  for (ThreadState& state : ThreadsInside()) {
    if (state.tid == self->tid.load()) continue;
    const bool gets = state.activity == Activity::kGetCqEvent || state.activity == Activity::kGetAsyncEvent;
    if (destroys ? state.activity == Activity::kDestroy : gets) others.push_back(state);
  }
  return others;
}

void LookForOverlap(ThreadRecord* self, bool self_destroys) {
  if (!AnyInside(self, !self_destroys)) return;
  std::vector<ThreadState> others = OthersInside(self, !self_destroys);
  if (others.empty()) return;
  if (overlaps == nullptr) overlaps = new Overlaps;
  for (ThreadState& other : others) {
    auto same = [&](const ThreadState& known) { return known.tid == other.tid && known.sequence == other.sequence; };
    if (std::none_of(overlaps->others.begin(), overlaps->others.end(), same)) overlaps->others.push_back(other);
  }
}

ObjectRef ObjectOf(Checker& checker, Kind kind, uintptr_t handle) {
  const Found found = checker.ledger().Pin(kind, handle);
  if (found.slot == 0) {
    DeadRecord dead;
    if (checker.ledger().FindDead(kind, handle, &dead)) return Describe(checker, dead.object);
    ObjectRef unknown;
    unknown.kind = NameOf(kind);
    return unknown;
  }
  ObjectRef object = Describe(checker, checker.ledger().Get(found.slot));
  checker.ledger().Unpin(found.slot);
  return object;
}

void SayOverlap(Call& call, const ThreadState& self, bool self_destroys, const ThreadState& other, uint64_t now) {
  Checker& checker = call.checker();
  const ThreadState& destroy = self_destroys ? self : other;
  const ThreadState& get = self_destroys ? other : self;
  {
    JudgeState& state = checker.judges();
    QuietLock lock(&state.overlaps_mutex);
    const auto pair = std::make_pair(destroy.stack, get.stack);
    if (std::find(state.overlaps_reported.begin(), state.overlaps_reported.end(), pair) != state.overlaps_reported.end()) return;
    state.overlaps_reported.push_back(pair);
  }
  // Is the other still inside? Otherwise it left before now, and the overlap is at most this long.
  const uint64_t both_since = std::max(destroy.begin, get.begin);
  ObjectRef destroyed = ObjectOf(checker, static_cast<Kind>(destroy.kind), destroy.object);
  ObjectRef waited = ObjectOf(checker, static_cast<Kind>(get.kind), get.object);
  Statement says = checker.disassoc_destroy()
                       ? Is<Sentence::kOverlapAllowed>(get.tid, get.verb, waited, destroy.tid, destroy.verb, destroyed)
                       : Is<Sentence::kOverlap>(get.tid, get.verb, waited, destroy.tid, destroy.verb, destroyed);
  Finding finding = FindingOf(Rule::kEventDestroyRace, call, std::move(says));
  finding.adds.push_back(Is<Sentence::kOverlappedFor>(
      Seconds{static_cast<double>(now > both_since ? now - both_since : 0) * 1e-9}));
  finding.stacks.clear();
  if (self.stack != 0) finding.stacks.push_back({StackRole::kHere, self.stack});
  if (other.stack != 0) finding.stacks.push_back({StackRole::kOtherThread, other.stack});
  auto add = [&](Role role, Kind kind, uintptr_t handle) {
    const Found found = checker.ledger().Pin(kind, handle);
    if (found.slot == 0) return;
    const Record record = checker.ledger().Get(found.slot);
    finding.related.push_back({role, Describe(checker, record)});
    checker.ledger().Unpin(found.slot);
  };
  DeadRecord dead;
  const Kind destroyed_kind = static_cast<Kind>(destroy.kind);
  const Found live = checker.ledger().Pin(destroyed_kind, destroy.object);
  Slot context = 0;
  if (live.slot != 0) {
    finding.has_object = true;
    finding.object = Describe(checker, checker.ledger().Get(live.slot));
    context = checker.ledger().ContextOf(live.slot);
    checker.ledger().Unpin(live.slot);
  } else if (checker.ledger().FindDead(destroyed_kind, destroy.object, &dead)) {
    finding.has_object = true;
    finding.object = DescribeDead(checker, dead);
  }
  add(Role::kHolder, static_cast<Kind>(get.kind), get.object);
  finding.timeline = TimelineOf(checker, context);
  checker.reporter().Say(std::move(finding));
}

// At the end of a get or destroy of this thread: tells what overlapped it.
void TellOverlaps(Call& call, bool self_destroys) {
  if (overlaps == nullptr || overlaps->others.empty()) return;
  const ThreadState mine = StateOf(*call.self());
  std::vector<ThreadState> others;
  others.swap(overlaps->others);
  if (call.ignored()) return;
  const uint64_t now = NanosOf(CLOCK_MONOTONIC);
  for (const ThreadState& other : others) SayOverlap(call, mine, self_destroys, other, now);
}

// ---- taken and acked

uint32_t SerialOf(Ledger& ledger, Slot slot) { return slot == 0 ? 0 : ledger.Get(slot).serial; }

void BeginGet(Call& call, Activity activity, Kind kind, uintptr_t handle) {
  Checker& checker = call.checker();
  ThreadRecord* self = call.self();
  if (self == nullptr) return;
  const bool judged = checker.judges_races();
  // A get that brings an event needs its stack at the end anyhow; one that is destroyed under needs it before.
  BeginActivity(self, activity, call.verb(), handle, static_cast<uint8_t>(kind), 0, call.StackId(),
                NanosOf(CLOCK_MONOTONIC));
  if (judged) LookForOverlap(self, false);
}

uint64_t EndGet(Call& call) {
  ThreadRecord* self = call.self();
  if (self == nullptr) return 0;
  if (call.checker().judges_races()) {
    LookForOverlap(self, false);
    TellOverlaps(call, false);
  }
  const uint64_t begin = self->begin.load(std::memory_order_relaxed);
  EndActivity(self);
  return begin;
}

const char* TypeOfEvents(bool async) { return async ? "asynchronous" : "completion"; }

// Each thread that received events once.
void AddTakers(Finding* finding, const std::vector<Taker>& takers) {
  std::vector<ThreadRef> threads;
  for (const Taker& taker : takers) {
    const auto same = [&taker](const ThreadRef& known) { return known.tid == taker.thread; };
    if (std::none_of(threads.begin(), threads.end(), same)) threads.push_back(DescribeThread(taker.thread));
  }
  finding->adds.push_back(Is<Sentence::kReceivedBy>(std::move(threads)));
}

// A program that reads the descriptor itself makes the count unknown: then no get was ever seen there, though acks were.
bool CountIsKnown(Ledger& ledger, const Record& record, bool async) {
  if (ledger.EventsOf(record.slot).unknown) return false;
  if (async) {
    const Slot context = ledger.ContextOf(record.slot);
    return context != 0 && ledger.EventsOf(context).async_taken > 0;
  }
  for (Slot parent : record.parents) {
    if (ledger.Get(parent).kind == Kind::kCompChannel) return ledger.EventsOf(parent).taken > 0;
  }
  return false;
}

// How many events more were acked than taken (negative: are owed) of each object that shares the channel (or, for
// asynchronous events, the context) with this one: an ack that was given to the wrong one.
void AddSwapped(Call& call, Finding* finding, const Record& record, bool async, int64_t surplus) {
  Ledger& ledger = call.checker().ledger();
  std::vector<Record> others;
  if (async) {
    const Slot context = ledger.ContextOf(record.slot);
    if (context != 0) others = ledger.Under(context);
  } else {
    for (Slot parent : record.parents) {
      if (ledger.Get(parent).kind == Kind::kCompChannel) others = ledger.ChildrenOf(parent);
    }
  }
  for (const Record& other : others) {
    if (other.slot == record.slot || (!async && other.kind != Kind::kCq)) continue;
    const EventCount events = ledger.EventsOf(other.slot);
    if (events.unknown) continue;
    const int64_t theirs = async ? static_cast<int64_t>(events.async_acked) - static_cast<int64_t>(events.async_taken)
                                 : static_cast<int64_t>(events.acked) - static_cast<int64_t>(events.taken);
    if (surplus > 0 ? theirs > -surplus : theirs < -surplus) continue;
    const uint64_t count = static_cast<uint64_t>(theirs < 0 ? -theirs : theirs);
    const ObjectRef object = Describe(call.checker(), other);
    const char* const shared = async ? "context" : "channel";
    finding->adds.push_back(surplus > 0 ? Is<Sentence::kSwappedUnacked>(object, shared, count)
                                        : Is<Sentence::kSwappedAcked>(object, shared, count));
    finding->related.push_back({Role::kHolder, object});
    return;
  }
}

void SayOverAckedNow(Call& call, const Record& record, const EventCount& events, bool async) {
  Checker& checker = call.checker();
  const uint64_t taken = async ? events.async_taken : events.taken;
  const uint64_t acked = async ? events.async_acked : events.acked;
  Finding finding = FindingOf(Rule::kOverAckedEvents, call, Is<Sentence::kAckedTooMany>(taken, TypeOfEvents(async), acked));
  SetObject(checker, &finding, record);
  AddSwapped(call, &finding, record, async, static_cast<int64_t>(acked - taken));
  finding.adds.push_back(Is<Sentence::kDestroyWillBlock>());
  finding.timeline = TimelineOf(checker, checker.ledger().ContextOf(record.slot));
  checker.reporter().Say(std::move(finding));
}

void SayUnacked(Call& call, const Record& record, const EventCount& events, bool async) {
  Checker& checker = call.checker();
  const uint64_t taken = async ? events.async_taken : events.taken;
  const uint64_t acked = async ? events.async_acked : events.acked;
  if (acked > taken) {
    Finding finding =
        FindingOf(Rule::kOverAckedEvents, call, Is<Sentence::kWillBlockAckedTooMany>(taken, TypeOfEvents(async), acked));
    SetObject(checker, &finding, record);
    AddSwapped(call, &finding, record, async, static_cast<int64_t>(acked - taken));
    finding.timeline = TimelineOf(checker, checker.ledger().ContextOf(record.slot));
    checker.reporter().Say(std::move(finding));
    return;
  }
  std::vector<Taker> takers;
  for (const Taker& taker : events.takers) {
    if (taker.async == async) takers.push_back(taker);
  }
  // Then a destroy may return EIO, which counts as done, and nothing waits.
  const Slot context = checker.ledger().ContextOf(record.slot);
  if (checker.disassoc_destroy() && context != 0 && checker.ledger().Get(context).Has(kDeviceLost)) return;
  bool all_gone = true, own = false;
  for (const Taker& taker : takers) {
    all_gone &= !ThreadLives(taker.thread);
    own |= taker.thread == call.tid();
  }
  if (!own && !all_gone) return;  // who took it may still ack it: only time will tell (blocked-destroy)
  const uint64_t missing = taken - acked;
  Finding finding =
      own ? FindingOf(Rule::kSelfDeadlock, call,
                      Is<Sentence::kWillBlockOwnEvent>(taken, TypeOfEvents(async), acked, missing))
          : FindingOf(Rule::kUnackedEvents, call,
                      Is<Sentence::kWillBlockThreadExited>(taken, TypeOfEvents(async), acked, missing));
  AddTakers(&finding, takers);
  AddSwapped(call, &finding, record, async, -static_cast<int64_t>(missing));
  SetObject(checker, &finding, record);
  for (const Taker& taker : takers) {
    if (taker.stack != 0 && finding.stacks.size() < 6) finding.stacks.push_back({StackRole::kEventTaken, taker.stack});
  }
  finding.timeline = TimelineOf(checker, checker.ledger().ContextOf(record.slot));
  checker.reporter().Say(std::move(finding));
}

bool SayIfLate(Call& call, Kind kind, uintptr_t handle) {
  Checker& checker = call.checker();
  DeadRecord dead;
  if (!checker.ledger().FindDead(kind, handle, &dead)) return false;
  const EventCount& events = dead.events;
  const bool owed = events.taken > events.acked || events.async_taken > events.async_acked;
  if (!owed || !checker.judges_races()) return false;
  Finding finding = FindingOf(Rule::kLateAck, call, Is<Sentence::kLateAck>());
  finding.has_object = true;
  finding.object = DescribeDead(checker, dead);
  finding.stacks.push_back({StackRole::kCreated, dead.object.stack});
  finding.stacks.push_back({StackRole::kDestroyed, dead.destroyed_stack});
  for (const Taker& taker : events.takers) {
    if (taker.stack != 0 && finding.stacks.size() < 6) finding.stacks.push_back({StackRole::kEventTaken, taker.stack});
  }
  finding.timeline =
      TimelineOf(checker, checker.ledger().ContextOf(dead.object.parents.empty() ? 0 : dead.object.parents[0]));
  checker.reporter().Say(std::move(finding));
  return true;
}

bool BeginAck(Call& call, Kind kind, uintptr_t handle, bool async, uint64_t count) {
  Ledger& ledger = call.checker().ledger();
  if (handle == 0) {
    SayNull(call, kind, NullIn::kUse);
    return true;
  }
  const Found found = ledger.Pin(kind, handle);
  if (found.slot == 0) {
    if (found.standing != Standing::kDead) return true;
    if (SayIfLate(call, kind, handle)) return false;
    DeadRecord dead;
    if (ledger.FindDead(kind, handle, &dead) && IsStillDead(call.checker(), dead)) SayDead(call, dead, Fate::kForwarded);
    return true;
  }
  const EventCount events = ledger.EventsOf(found.slot);
  const bool owes = async ? events.async_taken > events.async_acked : events.taken > events.acked;
  bool forward = true;
  if (!owes && SayIfLate(call, kind, handle)) {
    forward = false;  // the address belongs to another object now, which this ack would hang
  } else {
    if ((found.flags & kClosed) != 0) SayClosed(call, found.slot, Fate::kForwarded);
    if ((found.flags & kInherited) != 0) SayForeign(call, found.slot);
    ledger.Acked(found.slot, async, count, call.tid());
    const uint64_t taken = async ? events.async_taken : events.taken;
    const uint64_t before = async ? events.async_acked : events.acked;
    if (before <= taken && before + count > taken && !call.ignored() && (found.flags & kIgnored) == 0) {
      const Record record = ledger.Get(found.slot);
      if (record.origin != Origin::kUnknown && CountIsKnown(ledger, record, async)) {
        SayOverAckedNow(call, record, ledger.EventsOf(found.slot), async);
      }
    }
    Remember(call.self(), call.verb(), kind, SerialOf(ledger, found.slot), 0, 0, 0);
  }
  ledger.Unpin(found.slot);
  return forward;
}

}  // namespace

bool BeginGetCqEvent(Call& call, uintptr_t channel) {
  if (!BeginUseOfGet(call, {Kind::kCompChannel, channel, true})) return false;
  BeginGet(call, Activity::kGetCqEvent, Kind::kCompChannel, channel);
  return true;
}

void EndGetCqEvent(Call& call, uintptr_t channel, uintptr_t cq, int error) {
  Ledger& ledger = call.checker().ledger();
  const uint64_t begin = EndGet(call);
  const Found on = ledger.Pin(Kind::kCompChannel, channel);
  if (error != 0) {
    if (on.slot != 0 && error == EIO) NoteDeviceLost(call.checker(), ledger.ContextOf(on.slot));
    if (on.slot != 0) {
      if (error != EAGAIN && error != EINTR) {
        Remember(call.self(), call.verb(), Kind::kCompChannel, SerialOf(ledger, on.slot), begin, NanosOf(CLOCK_MONOTONIC),
                 error);
      }
      ledger.Unpin(on.slot);
    }
    return;
  }
  const Taker taker{call.tid(), call.StackId(), NowStamp(), false};
  if (on.slot != 0) ledger.Taken(on.slot, false, taker);
  const Found found = ledger.Pin(Kind::kCq, cq);
  if (found.slot != 0) {
    ledger.Taken(found.slot, false, taker);
    Remember(call.self(), call.verb(), Kind::kCq, SerialOf(ledger, found.slot), begin, NanosOf(CLOCK_MONOTONIC), 0);
    ledger.Unpin(found.slot);
  }
  if (on.slot != 0) ledger.Unpin(on.slot);
}

bool BeginAckCqEvents(Call& call, uintptr_t cq, unsigned count) {
  return BeginAck(call, Kind::kCq, cq, false, count);
}

bool BeginGetAsyncEvent(Call& call, uintptr_t context) {
  if (!BeginUseOfGet(call, {Kind::kContext, context, true})) return false;
  BeginGet(call, Activity::kGetAsyncEvent, Kind::kContext, context);
  return true;
}

void EndGetAsyncEvent(Call& call, uintptr_t context, Kind kind, uintptr_t handle, bool fatal, bool qp_error, int error) {
  Ledger& ledger = call.checker().ledger();
  const uint64_t begin = EndGet(call);
  const Found on = ledger.Pin(Kind::kContext, context);
  if (on.slot == 0) return;
  if (error == 0) {
    const Taker taker{call.tid(), call.StackId(), NowStamp(), true};
    ledger.Taken(on.slot, true, taker);
    if (fatal) NoteDeviceLost(call.checker(), on.slot);
    const Found found = kind == Kind::kNone ? Found() : ledger.Pin(kind, handle);
    if (found.slot != 0) {
      ledger.Taken(found.slot, true, taker);
      if (qp_error) NoteQpState(call, handle, kQpsErr);
    }
    Remember(call.self(), fatal ? "fatal" : call.verb(), found.slot != 0 ? kind : Kind::kContext,
             SerialOf(ledger, found.slot != 0 ? found.slot : on.slot), begin, NanosOf(CLOCK_MONOTONIC), 0);
    if (found.slot != 0) ledger.Unpin(found.slot);
  } else if (error != EAGAIN && error != EINTR) {
    if (error == EIO) NoteDeviceLost(call.checker(), on.slot);
    Remember(call.self(), call.verb(), Kind::kContext, SerialOf(ledger, on.slot), begin, NanosOf(CLOCK_MONOTONIC), error);
  }
  ledger.Unpin(on.slot);
}

bool BeginAckAsyncEvent(Call& call, Kind kind, uintptr_t handle) { return BeginAck(call, kind, handle, true, 1); }

void BeforeDestroyOf(Call& call, Kind kind, uintptr_t, Slot slot) {
  if (kind != Kind::kCq && kind != Kind::kQp && kind != Kind::kSrq && kind != Kind::kWq) return;
  Ledger& ledger = call.checker().ledger();
  const EventCount events = ledger.EventsOf(slot);
  const bool comp = events.taken != events.acked, async = events.async_taken != events.async_acked;
  if (!comp && !async) return;
  const Record record = ledger.Get(slot);
  if (record.Has(kIgnored) || call.ignored()) return;
  if (comp && CountIsKnown(ledger, record, false)) SayUnacked(call, record, events, false);
  if (async && CountIsKnown(ledger, record, true)) SayUnacked(call, record, events, true);
}

namespace {

bool IsInTheGetOn(const ThreadState& state, Kind kind, uintptr_t handle) {
  const Activity get = kind == Kind::kCompChannel ? Activity::kGetCqEvent
                       : kind == Kind::kContext   ? Activity::kGetAsyncEvent
                                                  : Activity::kGetCmEvent;
  return state.activity == get && state.object == handle;
}

}  // namespace

void JudgeWaiters(Call& call, Kind kind, uintptr_t handle, Slot slot) {
  if (kind != Kind::kCompChannel && kind != Kind::kContext && kind != Kind::kCmChannel) return;
  Checker& checker = call.checker();
  // event-destroy-race is the more specific one; it has no word on rdma_cm's events.
  if (checker.judges_races() && kind != Kind::kCmChannel) return;
  const int32_t self = call.tid();
  std::vector<ThreadState> waiters;
  for (const ThreadState& state : ThreadsInside()) {
    if (state.tid != self && IsInTheGetOn(state, kind, handle)) waiters.push_back(state);
  }
  if (waiters.empty()) return;
  const Record record = checker.ledger().Get(slot);
  if (call.ignored() || record.Has(kIgnored) || record.Has(kInherited) || !IsProgramsOwn(checker, record)) return;
  const int fd = FdOf(kind, record.numbers);
  // One that has been woken, that does not block, or that left the get by a jump is not there.
  auto elsewhere = [fd](const ThreadState& state) { return !ThreadBlocksOn(state.tid, fd); };
  waiters.erase(std::remove_if(waiters.begin(), waiters.end(), elsewhere), waiters.end());
  if (waiters.empty()) return;
  Finding finding = FindingOf(Rule::kDestroyedUnderWaiter, call,
                              Is<Sentence::kUnderWaiter>(DescribeThread(waiters[0].tid), waiters[0].verb));
  if (waiters.size() > 1) finding.says.push_back(Is<Sentence::kAndMoreWaiters>(waiters.size() - 1));
  finding.has_object = true;
  finding.object = Describe(checker, record);
  for (const ThreadState& waiter : waiters) {
    if (waiter.stack != 0 && finding.stacks.size() < 6) finding.stacks.push_back({StackRole::kOtherThread, waiter.stack});
  }
  if (record.stack != 0) finding.stacks.push_back({StackRole::kCreated, record.stack});
  finding.adds.push_back(Is<Sentence::kWakeIt>());
  checker.reporter().Say(std::move(finding));
}

void BeginDestroyActivity(Call& call, Kind kind, uintptr_t handle, Slot slot) {
  ThreadRecord* self = call.self();
  if (self == nullptr) return;
  // Inside rdma_destroy_id, which is what may wait: the inner destroy leaves its mark alone.
  if (self->activity.load(std::memory_order_relaxed) != Activity::kNone) return;
  Checker& checker = call.checker();
  const bool judged = checker.judges_races() && IsVerbsObject(kind);
  bool may_wait = false;
  if (slot != 0 && (kind == Kind::kCq || kind == Kind::kQp || kind == Kind::kSrq || kind == Kind::kWq)) {
    const EventCount events = checker.ledger().EventsOf(slot);
    may_wait = events.taken != events.acked || events.async_taken != events.async_acked;
  }
  const bool watched = may_wait || checker.options().hang_timeout_given;
  // Which events an id is owed is asked by its own rule, which starts the watch.
  if (kind == Kind::kCmId && slot != 0) may_wait = checker.ledger().HasChildren(slot);
  // A destroy of what is known keeps its stack at the end: taken now, it also serves a second thread that destroys it.
  BeginActivity(self, IsVerbsObject(kind) ? Activity::kDestroy : Activity::kRelease, call.verb(), handle, static_cast<uint8_t>(kind),
                may_wait || watched ? SerialOf(checker.ledger(), slot) : 0,
                judged || watched || slot != 0 ? call.StackId() : 0,
                NanosOf(judged || may_wait || watched ? CLOCK_MONOTONIC : CLOCK_MONOTONIC_COARSE));
  if (watched) BeginWatch(call, slot);
  if (judged) LookForOverlap(self, true);
}

void EndDestroyActivity(Call& call, Slot slot) {
  ThreadRecord* self = call.self();
  if (self == nullptr || self->verb.load(std::memory_order_relaxed) != call.verb()) return;
  EndWatch(call.checker(), self, slot);
  if (call.checker().judges_races() && self->activity.load(std::memory_order_relaxed) == Activity::kDestroy) {
    LookForOverlap(self, true);
    TellOverlaps(call, true);
  }
  EndActivity(self);
}

void ForgetCallUnderWay() {
  ThreadRecord* self = ThisThreadIfMade();
  if (self == nullptr) return;
  if (overlaps != nullptr) overlaps->others.clear();
  // One whose real destroy was left half-way may be tried again, as after a refusal. Whether it is destroyed nobody knows, so
  // nothing is said of it later.
  Checker& checker = *Checker::IfMade();  // which this thread once called
  Ledger& ledger = checker.ledger();
  const int32_t tid = self->tid.load(std::memory_order_relaxed);
  for (const Slot slot : ledger.DyingBy(tid)) {
    EndWatch(checker, self, slot);
    if (self->returned == Returned::kNot) ledger.SetFlags(slot, kIgnored);
    ledger.EndDestroy(slot, self->returned == Returned::kZero, self->verb.load(), self->stack.load(), tid);
    self->returned = Returned::kNot;
  }
  self->returned = Returned::kNot;
  EndActivity(self);
}

}  // namespace rdmacheck
