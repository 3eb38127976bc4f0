#include "interpose/judge/watcher.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "interpose/judge/objects.h"
#include "interpose/judge/state.h"
#include "interpose/judge/timeline.h"
#include "interpose/base/clock.h"
#include "interpose/base/quiet_lock.h"
#include "interpose/base/stack_bounds.h"
#include "interpose/checker/guard.h"
#include "interpose/stacks/thread_stack.h"
#include "report/frugal.h"
#include "interpose/checker/checker.h"

namespace rdmacheck {
namespace {

void Changed(JudgeState& state) {
  state.watch_changes.fetch_add(1);
  FutexWake(&state.watch_changes, 1);
}

Statement WhyUnseen(const ThreadStack& taken) {
  switch (taken.why) {
    case Unseen::kReturned:
      return Is<Sentence::kUnseenReturned>();
    case Unseen::kRestless:
      return Is<Sentence::kUnseenRestless>();
    case Unseen::kNoProc:
      return Is<Sentence::kUnseenNoProc>();
    case Unseen::kKernel:
      return Is<Sentence::kUnseenKernel>(SystemCallName(taken.call));
    case Unseen::kWouldEnd:
      return Is<Sentence::kUnseenWouldEnd>(SystemCallName(taken.call));
    case Unseen::kHandled:
      return Is<Sentence::kUnseenHandled>();
    case Unseen::kBlocked:
      return Is<Sentence::kUnseenBlocked>();
    case Unseen::kNoRoom:
      return Is<Sentence::kUnseenNoRoom>();
    case Unseen::kNoAnswer:
      return Is<Sentence::kUnseenNoAnswer>();
    case Unseen::kUnreadable:
      return Is<Sentence::kUnseenUnreadable>();
    case Unseen::kNothing:
    case Unseen::kNoWay:
      break;
  }
  return Is<Sentence::kUnseenNoWay>();
}

// Where in the library the thread stands, and from the hook on the stack that led to its destroy.
void AddStandsAt(Checker& checker, const Watch& watch, const ThreadState& blocked, Finding* finding) {
  const Options& options = checker.options();
  if (!options.hang_stacks || options.stack_depth == 0 || options.unwinder == Unwinder::kNone) return;
  static ThreadStack taken;  // of the one watcher
  const size_t depth = static_cast<size_t>(options.stack_depth);
  const UnwindBy by = options.unwinder == Unwinder::kFp ? UnwindBy::kFramePointers : UnwindBy::kLibunwind;
  TakeStackOf(watch.tid, watch.top, watch.low, by, kMaxFrames, &taken);
  // Then it stands elsewhere, as far as anybody knows.
  if (watch.thread->sequence.load() != blocked.sequence) return;
  const bool whole = taken.why == Unseen::kNothing;
  const StackDepot::Node* const here = checker.depot().Get(blocked.stack);
  for (int i = 0; whole && here != nullptr && i < here->depth && taken.depth < kMaxFrames; ++i) {
    taken.pcs[taken.depth++] = here->pcs[i];
  }
  taken.depth = std::min(taken.depth, depth);
  const StackDepot::Node* node = nullptr;
  if (taken.depth > 0 && taken.why != Unseen::kReturned) {
    node = checker.depot().Put(blocked.verb, Kind::kNone, taken.pcs, taken.depth, whole && here != nullptr ? here->python : nullptr);
  }
  if (node != nullptr) finding->stacks.push_back({StackRole::kOtherThread, node->id});
  if (whole) return;
  finding->adds.push_back(node != nullptr ? Is<Sentence::kStandsPartly>() : Is<Sentence::kStandsUnknown>());
  finding->adds.push_back(WhyUnseen(taken));
}

void SayBlocked(Checker& checker, const Watch& watch) {
  ThreadState blocked;
  std::vector<ThreadState> gets;
  for (const ThreadState& state : ThreadsInside()) {
    if (state.tid == watch.tid) blocked = state;
    if (state.activity == Activity::kGetCqEvent || state.activity == Activity::kGetAsyncEvent) gets.push_back(state);
  }
  if (blocked.tid == 0 || (blocked.activity != Activity::kDestroy && blocked.activity != Activity::kRelease)) return;
  // An object that was born where we do not look has no slot.
  const bool known = watch.slot != 0;
  const Record record = known ? checker.ledger().Get(watch.slot) : Record();
  const ObjectRef object = known ? Describe(checker, record) : ObjectRef();
  EventCount events = known ? checker.ledger().EventsOf(watch.slot) : EventCount();
  uint64_t taken = events.taken + events.async_taken;
  const uint64_t acked = events.acked + events.async_acked;
  if (record.kind == Kind::kCmId) {
    for (const Record& event : checker.ledger().ChildrenOf(watch.slot)) {
      if (event.kind != Kind::kCmEvent) continue;
      events.takers.push_back({event.thread, event.stack, event.born, false});
      ++taken;
    }
  }
  const Seconds since{static_cast<double>(NanosOf(CLOCK_MONOTONIC) - blocked.begin) * 1e-9};
  Statement says = known ? Is<Sentence::kBlocked>(since) : Is<Sentence::kBlockedUnknown>(since);
  Finding finding = FindingAtExit(Rule::kBlockedDestroy, std::move(says));
  finding.says.push_back(taken > acked ? Is<Sentence::kWaitsForEvents>(taken, acked) : Is<Sentence::kWaitUnexplained>());
  finding.verb = blocked.verb;
  finding.thread = DescribeThread(watch.tid);
  finding.has_object = known;
  finding.object = object;
  if (blocked.stack != 0) finding.stacks.push_back({StackRole::kHere, blocked.stack});
  AddStandsAt(checker, watch, blocked, &finding);
  if (record.stack != 0) finding.stacks.push_back({StackRole::kCreated, record.stack});
  for (const Taker& taker : events.takers) {
    finding.adds.push_back(Is<Sentence::kEventNotAcked>(DescribeThread(taker.thread)));
    if (taker.stack != 0) finding.stacks.push_back({StackRole::kEventTaken, taker.stack});
    if (finding.adds.size() >= 5) break;
  }
  for (const ThreadState& get : gets) {
    const Seconds inside{static_cast<double>(NanosOf(CLOCK_MONOTONIC) - get.begin) * 1e-9};
    finding.adds.push_back(Is<Sentence::kInsideFor>(DescribeThread(get.tid), get.verb, inside));
  }
  if (known) finding.timeline = TimelineOf(checker, checker.ledger().ContextOf(watch.slot));
  checker.reporter().Say(std::move(finding));
}

// The next watch that is due, counted as reported from now on; or when to look again. False: nothing is watched any more.
bool NextDue(JudgeState& state, bool lingers, Watch* due, uint64_t* next, uint32_t* seen) {
  QuietLock lock(&state.watch_mutex);
  *seen = state.watch_changes.load();
  *next = ~0ull;
  due->thread = nullptr;
  if (state.watches.empty() && !lingers) {
    state.watcher_runs = false;
    return false;
  }
  const uint64_t now = NanosOf(CLOCK_MONOTONIC);
  for (Watch& watch : state.watches) {
    if (watch.reported) continue;
    if (watch.deadline <= now) {
      watch.reported = true;
      *due = watch;
      return true;
    }
    *next = std::min(*next, watch.deadline);
  }
  return true;
}

void* Run(void* argument) {
  Checker& checker = *static_cast<Checker*>(argument);
  JudgeState& state = checker.judges();
  Watch due{};
  uint64_t next = 0;
  uint32_t seen = 0;
  // Where every destroy is watched the next one is near: no new thread for each.
  const bool lingers = checker.options().hang_timeout_given;
  while (NextDue(state, lingers, &due, &next, &seen)) {
    if (due.thread != nullptr) {
      // The slot stays what it is while the destroy has not returned.
      Guarded(checker, [&] {
        SayBlocked(checker, due);
      });
      continue;
    }
    const uint64_t now = NanosOf(CLOCK_MONOTONIC);
    if (next <= now) continue;
    const uint64_t wait = next - now;
    const timespec time{static_cast<time_t>(wait / 1000000000u), static_cast<long>(wait % 1000000000u)};
    FutexWait(&state.watch_changes, seen, next == ~0ull ? nullptr : &time);
  }
  return nullptr;
}

void StartThread(Checker& checker) {
  // The program's handlers must never run on a thread it does not know.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const bool made = pthread_create(&thread, &attr, &Run, &checker) == 0;
  pthread_attr_destroy(&attr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (made) {
    pthread_setname_np(thread, "rdmacheck");
  } else {
    {
      JudgeState& state = checker.judges();
      QuietLock lock(&state.watch_mutex);
      state.watcher_runs = false;
    }
    checker.TellOnce(Is<Sentence::kNoWatcher>());
  }
}

}  // namespace

void BeginWatch(Call& call, Slot slot) {
  Checker& checker = call.checker();
  ThreadRecord* const self = call.self();
  const int timeout = checker.options().hang_timeout;
  if (timeout <= 0 || self == nullptr || Frugal()) return;
  JudgeState& state = checker.judges();
  state.watches_used.store(true, std::memory_order_release);
  Watch watch{self, self->tid.load(), self->sequence.load(), slot};
  watch.deadline = NanosOf(CLOCK_MONOTONIC) + static_cast<uint64_t>(timeout) * 1000000000u;
  watch.top = call.point().stack;
  if (const StackBounds& bounds = BoundsOfThisThread(); bounds.Holds(watch.top)) watch.low = bounds.low;
  bool start;
  {
    QuietLock lock(&state.watch_mutex);
    state.watches.push_back(watch);
    start = !state.watcher_runs;
    state.watcher_runs = true;
  }
  Changed(state);
  if (start) StartThread(checker);
}

void EndWatch(Checker& checker, ThreadRecord* self, Slot slot) {
  JudgeState& state = checker.judges();
  if (self == nullptr || !state.watches_used.load(std::memory_order_acquire)) return;
  {
    QuietLock lock(&state.watch_mutex);
    const auto ends = [=](const Watch& w) { return w.thread == self && w.slot == slot; };
    const auto kept = std::remove_if(state.watches.begin(), state.watches.end(), ends);
    if (kept == state.watches.end()) return;
    state.watches.erase(kept, state.watches.end());
  }
  Changed(state);
}

}  // namespace rdmacheck
