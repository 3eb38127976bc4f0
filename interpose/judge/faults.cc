#include "interpose/judge/faults.h"

#include <string.h>
#include <sys/uio.h>

#include <atomic>

#include "interpose/judge/objects.h"
#include "interpose/judge/judge.h"
#include "interpose/judge/state.h"
#include "interpose/base/clock.h"
#include "interpose/base/proc_files.h"
#include "interpose/checker/checker.h"
#include "interpose/verbs/numbers.h"
#include "report/frugal.h"
#include "report/process_id.h"

namespace rdmacheck {
namespace {

// A handle that came to a library's own call is the library's affair, but a fault all the same.
void AddStacks(Finding* finding, uint32_t created, uint32_t destroyed, StackRole role = StackRole::kDestroyed) {
  if (created != 0) finding->stacks.push_back({StackRole::kCreated, created});
  if (destroyed != 0) finding->stacks.push_back({role, destroyed});
}

}  // namespace


void NoteFailedCreate(Call& call, Kind kind, int error) {
  FailedCreate& failed = call.checker().judges().failed_creates[static_cast<size_t>(FamilyOf(kind))];
  failed.verb.store(call.verb());
  failed.error.store(error);
  failed.stack.store(call.StackId());
}

namespace {

void SayNullOf(Call& call, const char* noun, const FailedCreate* failed, NullIn where) {
  if (call.ignored()) return;
  Finding finding = FindingOf(Rule::kNullHandle, call,
                              where == NullIn::kUse ? Is<Sentence::kNullUsed>(noun) : Is<Sentence::kNullRefused>(noun));
  if (const char* verb = failed == nullptr ? nullptr : failed->verb.load()) {
    finding.adds.push_back(Is<Sentence::kLastFailedCreate>(verb, Errno{failed->error.load()}));
    if (failed->stack.load() != 0) finding.stacks.push_back({StackRole::kCreated, failed->stack.load()});
  }
  call.checker().reporter().Say(std::move(finding));
}

}  // namespace

void SayNull(Call& call, Kind kind, NullIn where) {
  SayNullOf(call, NameOf(kind), &call.checker().judges().failed_creates[static_cast<size_t>(FamilyOf(kind))], where);
}

void SayNullUse(Call& call, const char* noun) { SayNullOf(call, noun, nullptr, NullIn::kUse); }

bool RefuseNull(Call& call, Kind kind) {
  SayNull(call, kind, NullIn::kDestroy);
  return false;
}

bool RefuseNull(Call& call, const char* noun) {
  SayNullOf(call, noun, nullptr, NullIn::kCreate);
  return false;
}

void SayDead(Call& call, const DeadRecord& dead, Fate fate) {
  if (call.ignored() || dead.object.Has(kIgnored)) return;
  Checker& checker = call.checker();
  Statement says = fate == Fate::kForwarded                      ? Is<Sentence::kUsedAfterDestroy>()
                   : fate == Fate::kGetRefused                   ? Is<Sentence::kGetAfterDestroy>()
                   : checker.options().forward_double_destroy ? Is<Sentence::kDestroyedTwiceForwarded>()
                                                              : Is<Sentence::kDestroyedTwice>();
  Finding finding = FindingOf(fate == Fate::kDestroyRefused ? Rule::kDoubleDestroy : Rule::kUseAfterDestroy, call,
                              std::move(says));
  finding.has_object = true;
  finding.object = DescribeDead(checker, dead);
  AddStacks(&finding, dead.object.stack, dead.destroyed_stack);
  if (dead.destroyed_thread != call.tid()) {
    finding.adds.push_back(Is<Sentence::kDestroyedByThread>(DescribeThread(dead.destroyed_thread), call.tid()));
  }
  checker.reporter().Say(std::move(finding));
}

void SayDying(Call& call, Slot slot) {
  Checker& checker = call.checker();
  const Record record = checker.ledger().Get(slot);
  if (call.ignored() || record.Has(kIgnored)) return;
  Finding finding = FindingOf(Rule::kDoubleDestroy, call, Is<Sentence::kDestroyedTwiceAtOnce>());
  SetObject(checker, &finding, record);
  for (const ThreadState& other : ThreadsInside()) {
    const bool destroys = other.activity == Activity::kDestroy || other.activity == Activity::kRelease;
    if (!destroys || other.object != record.handle || other.tid == call.tid()) continue;
    finding.adds.push_back(Is<Sentence::kInsideDestroy>(DescribeThread(other.tid), other.verb));
    if (other.stack != 0) finding.stacks.push_back({StackRole::kOtherThread, other.stack});
  }
  checker.reporter().Say(std::move(finding));
}

void SayClosed(Call& call, Slot slot, Fate fate) {
  Checker& checker = call.checker();
  const Record record = checker.ledger().Get(slot);
  if (call.ignored() || record.Has(kIgnored)) return;
  const ObjectRef object = Describe(checker, record);
  const Slot context = checker.ledger().ContextOf(slot);
  const std::string device = object.device.empty() ? std::string() : " " + object.device;
  Finding finding = FindingOf(Rule::kUseAfterClose, call,
                              fate == Fate::kDestroyRefused ? Is<Sentence::kDestroyedAfterClose>(device)
                              : fate == Fate::kGetRefused   ? Is<Sentence::kGetAfterClose>(device)
                                                            : Is<Sentence::kUsedAfterClose>(device));
  finding.has_object = true;
  finding.object = object;
  uint32_t closed_stack = 0;
  if (context != 0) {
    const Record closed = checker.ledger().Get(context);
    for (const DeadRecord& dead : checker.ledger().Dead()) {
      if (dead.object.serial == closed.serial) closed_stack = dead.destroyed_stack;
    }
  }
  AddStacks(&finding, record.stack, closed_stack, StackRole::kClosed);
  checker.reporter().Say(std::move(finding));
}

void SayForeign(Call& call, Slot slot) {
  Checker& checker = call.checker();
  const Record record = checker.ledger().Get(slot);
  if (call.ignored() || record.Has(kIgnored)) return;
  Finding finding = FindingOf(Rule::kForeignProcess, call, Is<Sentence::kUsedInChild>(getppid()));
  SetObject(checker, &finding, record);
  if (checker.fork_stack() != 0) {
    finding.stacks.push_back({StackRole::kOtherThread, checker.fork_stack()});
  }
  checker.reporter().Say(std::move(finding));
}

bool IsStillDead(Checker& checker, const DeadRecord& dead) {
  const Fingerprint print = FingerprintOf(dead.object.kind);
  if (print.offset < 0) return true;
  if (Frugal()) return false;  // it cannot be looked at: unknown is not wrong
  uint32_t now = 0;
  iovec local{&now, sizeof(now)};
  iovec remote{reinterpret_cast<void*>(dead.object.handle + static_cast<uintptr_t>(print.offset)), sizeof(now)};
  uintptr_t context = 0;
  iovec local_context{&context, sizeof(context)};
  iovec remote_context{reinterpret_cast<void*>(dead.object.handle), sizeof(context)};
  if (process_vm_readv(ProcessId(), &local, 1, &remote, 1, 0) != sizeof(now)) return true;
  if (process_vm_readv(ProcessId(), &local_context, 1, &remote_context, 1, 0) != sizeof(context)) return true;
  // The memory may be another kind's by now: then nothing in it says that the dead one lives again.
  for (size_t kind = 1; kind < kKindCount; ++kind) {
    if (checker.ledger().Find(static_cast<Kind>(kind), dead.object.handle).standing == Standing::kLive) return true;
    // Or it was, and what that one left behind still lies there.
    DeadRecord later;
    if (FamilyOf(static_cast<Kind>(kind)) != FamilyOf(dead.object.kind) &&
        checker.ledger().FindDead(static_cast<Kind>(kind), dead.object.handle, &later) &&
        later.order > dead.order) {
      return true;
    }
  }
  // A living object of this kind begins with a context that lives, and bears another number than the dead one.
  if (checker.ledger().Find(Kind::kContext, context).standing != Standing::kLive) return true;
  return now == print.NumberOf(dead.object.numbers);
}

namespace {

// The descriptor that a living channel or context of this kind would be read by, as the memory has it; -1: not readable.
int FdIn(const Record& object) {
  const ptrdiff_t offset = FdOffsetOf(object.kind);
  int fd = -1;
  iovec local{&fd, sizeof(fd)};
  iovec remote{reinterpret_cast<void*>(object.handle + static_cast<uintptr_t>(offset)), sizeof(fd)};
  if (offset < 0 || Frugal() || process_vm_readv(ProcessId(), &local, 1, &remote, 1, 0) != sizeof(fd)) return -1;
  return fd;
}

}  // namespace

int FdOf(Kind kind, const Numbers& numbers) {
  switch (kind) {
    case Kind::kCompChannel:
    case Kind::kCmChannel:
      return static_cast<int>(static_cast<uint32_t>(numbers.a));
    case Kind::kContext:
      return static_cast<int>(static_cast<uint32_t>(numbers.a >> 32));  // the one of asynchronous events
    default:
      return -1;
  }
}

bool MayLiveUnseen(Checker& checker, const DeadRecord& dead) {
  const int fd = FdIn(dead.object);
  if (fd < 0 || !IsOpenFile(fd, "infiniband")) return false;
  for (const Record& record : checker.ledger().All()) {
    if (record.life != Life::kZombie && FdOf(record.kind, record.numbers) == fd) return false;
  }
  return true;
}

}  // namespace rdmacheck
