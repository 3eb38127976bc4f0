// Rules about creating: null-handle, use-after-*, foreign-process for the arguments, create-failed for the result.
#include <errno.h>

#include "interpose/judge/faults.h"
#include "interpose/base/quiet_lock.h"
#include "interpose/judge/judge.h"
#include "interpose/judge/objects.h"
#include "interpose/judge/state.h"
#include "interpose/base/clock.h"
#include "interpose/checker/checker.h"
#include "interpose/verbs/numbers.h"
#include "report/limits.h"

namespace rdmacheck {
namespace {

// Only these say that something ran out; EINVAL may be a limit too, but says so of many other things.
bool IsShortage(int error) {
  return error == ENOMEM || error == EAGAIN || error == ENOSPC || error == EMFILE || error == ENFILE;
}

constexpr uint32_t kMinute = 6000;  // hundredths of a second
bool IsTimeToReport(JudgeState& state, const char* verb) {
  const uint32_t now = NowStamp() + 1;
  QuietLock lock(&state.create_failed_mutex);
  uint32_t& last = state.create_failed_at[verb];
  if (last != 0 && now - last < kMinute) return false;
  last = now;
  return true;
}

void SayCreateFailed(Call& call, Kind kind, int error) {
  if (!IsTimeToReport(call.checker().judges(), call.verb())) return;
  Checker& checker = call.checker();
  std::vector<Record> held;
  uint64_t of_kind = 0, bytes = 0;
  for (const Record& record : checker.ledger().All()) {
    if (record.life == Life::kZombie || record.Has(kInherited) || record.origin == Origin::kUnknown) continue;
    held.push_back(record);
    of_kind += record.kind == kind;
    bytes += record.kind == kind ? BytesOf(record) : 0;
  }
  uint64_t created = 0;
  checker.depot().ForEach([&](const StackDepot::Node& node) {
    if (node.kind == kind) created += node.created.Sum();
  });
  Finding finding = FindingOf(Rule::kCreateFailed, call, Is<Sentence::kCreateFailed>(of_kind, NameOf(kind), created));
  finding.has_result = true;
  finding.result = error;
  for (const std::vector<const Record*>& group : GroupByStack(held)) {
    Group line;
    line.kind = NameOf(group[0]->kind);
    line.count = group.size();
    line.stack = group[0]->stack;
    for (const Record* record : group) line.bytes += BytesOf(*record);
    line.oldest = Describe(checker, *group[0]);
    finding.groups.push_back(std::move(line));
    if (finding.groups.size() == 20) break;
  }
  // The limit on descriptors is the process's own.
  const bool no_descriptor = error == EMFILE || NoDescriptorIsLeft();
  if (of_kind < 100 && !no_descriptor) finding.adds.push_back(Is<Sentence::kHoldsFew>());
  std::string use;
  if (no_descriptor) use = UseOfDescriptors();
  if (!no_descriptor && kind == Kind::kMr && (error == ENOMEM || error == EAGAIN)) use = UseOfLockedMemory();
  if (!use.empty()) finding.hints.push_back(std::move(use));
  finding.bytes = bytes;
  checker.reporter().Say(std::move(finding));
}

// Born where we do not look: taken in without a word, so that what is made from it has a parent. The object is alive
// (it is about to be used), so its context may be read.
Found Adopt(Call& call, Kind kind, uintptr_t handle) {
  Ledger& ledger = call.checker().ledger();
  Birth birth;
  birth.kind = kind;
  birth.handle = handle;
  birth.origin = Origin::kUnknown;
  Slot parents[1] = {0};
  if (kind == Kind::kContext) {
    call.checker().Unwatched(Is<Sentence::kUnseenContext>());
    call.checker().TellOnce(Is<Sentence::kContextUnseen>());
  } else if (const ptrdiff_t offset = ContextOffsetOf(kind); offset >= 0) {
    const uintptr_t context = *reinterpret_cast<const uintptr_t*>(handle + static_cast<uintptr_t>(offset));
    Found found = context == 0 ? Found() : ledger.Pin(Kind::kContext, context);
    if (context != 0 && found.slot == 0) found = Adopt(call, Kind::kContext, context);
    if (found.slot != 0) {
      parents[0] = found.slot;
      birth.parents = parents;
    }
  }
  ledger.Create(birth);
  return ledger.Pin(kind, handle);
}

// How many creates of this thread failed for want of resources.
thread_local uint32_t shortages_of_thread __attribute__((tls_model("initial-exec"))) = 0;

void NoteFirst(FirstRegistration* first, const Call& call, const Record& record) {
  const char* none = nullptr;
  if (!first->verb.compare_exchange_strong(none, call.verb())) return;
  first->serial.store(record.serial);
  first->thread.store(record.thread);
  first->when.store(record.born);
  first->stack.store(record.stack);
}

void NoteRegistered(const Call& call, Kind kind, Ledger& ledger, Slot slot) {
  const bool queue = kind == Kind::kCq || kind == Kind::kQp || kind == Kind::kSrq || kind == Kind::kWq;
  JudgeState& state = call.checker().judges();
  FirstRegistration* const first = kind == Kind::kMr ? &state.first_mr : queue ? &state.first_queue : nullptr;
  if (first == nullptr || slot == 0 || first->verb.load(std::memory_order_relaxed) != nullptr) return;
  NoteFirst(first, call, ledger.Get(slot));
}

}  // namespace

CmCreate BeginCmCreate() { return {shortages_of_thread}; }

void EndFailedCmCreate(Call& call, Kind kind, const CmCreate& before, int error) {
  // The verb inside that failed has reported it, and names what could not be created.
  if (shortages_of_thread != before.shortages) return;
  Pins none;
  EndCreate(call, kind, 0, {}, Origin::kCreated, error, &none);
}

void JudgeForkInitLate(Call& call, int error) {
  if (error != EINVAL || call.ignored()) return;
  Checker& checker = call.checker();
  const JudgeState& state = checker.judges();
  const FirstRegistration& first = state.first_mr.verb.load() != nullptr ? state.first_mr : state.first_queue;
  const char* const verb = first.verb.load();
  Finding finding = FindingOf(Rule::kForkInitLate, call,
                              verb == nullptr ? Is<Sentence::kForkInitLateUnseen>() : Is<Sentence::kForkInitLate>(verb));
  finding.has_result = true;
  finding.result = error;
  if (verb == nullptr) {
    finding.adds.push_back(Is<Sentence::kRegisteredUnseen>());
  } else {
    finding.adds.push_back(
        Is<Sentence::kRegisteredBefore>(verb, Seconds{EpochNow() - EpochOf(first.when.load())}, first.thread.load()));
    if (first.stack.load() != 0) finding.stacks.push_back({StackRole::kCreated, first.stack.load()});
    for (const Record& record : checker.ledger().All()) {
      if (record.serial != first.serial.load() || record.life == Life::kZombie) continue;
      finding.has_object = true;
      finding.object = Describe(checker, record);
    }
  }
  finding.adds.push_back(Is<Sentence::kForkInitFirst>());
  checker.reporter().Say(std::move(finding));
}

bool BeginCreate(Call& call, const Arguments& arguments, Pins* pins) {
  Ledger& ledger = call.checker().ledger();
  for (const Argument& argument : arguments) {
    if (argument.handle != 0) continue;
    if (!argument.required) continue;
    SayNull(call, argument.kind, NullIn::kCreate);
    return false;
  }
  for (const Argument& argument : arguments) {
    if (argument.handle == 0) continue;  // left out, or the verb's own affair: a list may hold NULL
    Found found = ledger.Pin(argument.kind, argument.handle);
    if (found.standing == Standing::kDead) {
      DeadRecord dead;
      if (ledger.FindDead(argument.kind, argument.handle, &dead) && IsStillDead(call.checker(), dead)) {
        SayDead(call, dead, Fate::kForwarded);
      } else {
        found.standing = Standing::kUnknown;
      }
    } else if (found.slot != 0 && (found.flags & kClosed) != 0) {
      SayClosed(call, found.slot, Fate::kForwarded);
    } else if (found.slot != 0 && (found.flags & kInherited) != 0) {
      SayForeign(call, found.slot);
    }
    if (found.standing == Standing::kUnknown) {
      found = Adopt(call, argument.kind, argument.handle);
    }
    if (found.slot != 0) pins->push_back(found.slot);
  }
  return true;
}

void EndCreate(Call& call, Kind kind, uintptr_t handle, const Numbers& numbers, Origin origin, int error, Pins* pins) {
  Checker& checker = call.checker();
  Ledger& ledger = checker.ledger();
  if (handle == 0) {
    NoteFailedCreate(call, kind, error);
    for (Slot parent : *pins) {
      ledger.SetFailure(parent, call.verb(), error, call.StackId());
      ledger.Unpin(parent);
    }
    pins->clear();
    if (!IsShortage(error)) return;
    ++shortages_of_thread;
    if (!call.ignored()) SayCreateFailed(call, kind, error);
    return;
  }
  StackDepot::Node* stack = call.StackFor(kind);
  if (stack != nullptr) {
    stack->created.Add();
  } else {
    checker.depot().CountUnplaced(kind);
  }
  if (stack == nullptr || stack->owner == Module::Owner::kProgram || stack->for_program.load(std::memory_order_relaxed)) {
    CountCreated(call.self(), kind);
  }
  Birth birth;
  birth.kind = kind;
  birth.handle = handle;
  birth.numbers = numbers;
  birth.stack = stack == nullptr ? 0 : stack->id;
  birth.thread = call.tid();
  birth.origin = origin;
  birth.flags = call.ignored() ? static_cast<uint8_t>(kIgnored) : 0;
  birth.parents = *pins;
  const Slot slot = ledger.Create(birth);
  pins->clear();
  NoteRegistered(call, kind, ledger, slot);
}

}  // namespace rdmacheck
