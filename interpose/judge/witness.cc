#include "interpose/judge/witness.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "interpose/base/clock.h"
#include "interpose/base/quiet_lock.h"
#include "interpose/base/thread_id.h"
#include "interpose/checker/checker.h"
#include "interpose/judge/objects.h"
#include "interpose/judge/state.h"
#include "interpose/ledger/threads.h"
#include "interpose/verbs/numbers.h"
#include "report/errno_name.h"
#include "report/frugal.h"
#include "report/process_id.h"

namespace rdmacheck {
namespace {

constexpr const char* kNames[kListedKinds] = {"context", "pd", "cq", "qp", "mr", "srq"};
constexpr size_t kMostNamed = 8;  // numbers in a sentence
constexpr int kTries = 4;
constexpr long kCalm = 20000000;  // nanoseconds without a call of a verb, before a difference counts

bool KindOfList(Kind kind, Listed* listed) {
  switch (kind) {
    case Kind::kContext: *listed = Listed::kContext; return true;
    case Kind::kPd: *listed = Listed::kPd; return true;
    case Kind::kCq: *listed = Listed::kCq; return true;
    case Kind::kQp: *listed = Listed::kQp; return true;
    case Kind::kMr: *listed = Listed::kMr; return true;
    case Kind::kSrq: *listed = Listed::kSrq; return true;
    default: return false;
  }
}

// Does the kernel list this one for certain? It lists no QP of XRC before 5.13 and no null MR of some providers, and keeps
// what a close left behind as long as a mapping pins it.
bool IsSure(const Record& record) {
  if (record.Has(kClosed) || record.origin != Origin::kCreated) return false;
  if (record.kind == Kind::kQp) {
    const auto type = static_cast<uint32_t>(record.numbers.b >> 32);
    return type == IBV_QPT_RC || type == IBV_QPT_UC || type == IBV_QPT_UD;
  }
  return record.kind != Kind::kMr || record.numbers.b < ~uint64_t{0} >> 1;
}

std::vector<Seen> SeenObjects(Checker& checker) {
  std::vector<Seen> seen;
  for (const Record& record : checker.ledger().All(~size_t{0}, kInherited)) {
    Seen one;
    if (record.life == Life::kZombie || !KindOfList(record.kind, &one.kind)) continue;
    if (record.kind == Kind::kMr) one.lkey = static_cast<uint32_t>(record.numbers.c);
    if (record.kind == Kind::kQp) one.number = static_cast<uint32_t>(record.numbers.a);
    one.device = DeviceOf(checker, record);
    one.made_here = record.origin == Origin::kCreated;
    one.imported = record.origin == Origin::kImported || record.origin == Origin::kOpened;
    one.sure = IsSure(record);
    one.slot = record.slot;
    one.serial = record.serial;
    seen.push_back(std::move(one));
  }
  return seen;
}

// The objects of one device by whose they are.
struct Owned {
  std::vector<const KernelObject*> ours[kListedKinds];
  uint64_t unknown[kListedKinds] = {};
  std::set<uint32_t> numbers[kListedKinds], lkeys;  // of all objects, whoever made them
  bool has_lkeys = false;
};

Owned ByOwner(const KernelDevice& device, const std::function<bool(int32_t)>& is_ours) {
  std::map<uint32_t, uint32_t> context_of;  // by PD
  for (const KernelObject& object : device.objects) {
    if (object.kind == Listed::kPd && object.context != kNoNumber) context_of[object.number] = object.context;
  }
  const auto context = [&](const KernelObject& object) {
    if (object.context != kNoNumber) return object.context;
    const auto it = context_of.find(object.pd);
    return it == context_of.end() ? kNoNumber : it->second;
  };
  std::map<int32_t, bool> threads;
  const auto by_thread = [&](int32_t thread) {
    const auto it = threads.find(thread);
    return it != threads.end() ? it->second : (threads[thread] = is_ours(thread));
  };
  std::set<uint32_t> our_contexts, others_contexts;
  for (const KernelObject& object : device.objects) {
    if (object.of_kernel || object.thread == 0) continue;
    const bool ours = by_thread(object.thread);
    if (ours) our_contexts.insert(context(object));
    if (!ours && object.kind == Listed::kContext) others_contexts.insert(object.number);
  }
  our_contexts.erase(kNoNumber);
  Owned owned;
  for (const KernelObject& object : device.objects) {
    const auto kind = static_cast<size_t>(object.kind);
    owned.numbers[kind].insert(object.number);
    if (object.lkey != 0) owned.has_lkeys = owned.lkeys.insert(object.lkey).second || owned.has_lkeys;
    if (object.of_kernel) continue;
    const uint32_t on = context(object);
    if (object.thread != 0 ? by_thread(object.thread) : our_contexts.count(on) != 0) {
      owned.ours[kind].push_back(&object);
    } else if (object.thread == 0 && others_contexts.count(on) == 0) {
      ++owned.unknown[kind];
    }
  }
  return owned;
}

Difference Compare(const Owned& owned, const std::vector<Seen>& seen, const std::string& device, Listed listed) {
  const auto kind = static_cast<size_t>(listed);
  Difference difference;
  difference.device = device;
  difference.kind = listed;
  uint64_t known = 0, made_here = 0, sure = 0;
  std::set<uint32_t> numbers, lkeys;
  for (const Seen& one : seen) {
    if (one.device != device || one.kind != listed) continue;
    known += one.made_here || one.imported;
    made_here += one.made_here;
    sure += one.sure;
    if (!one.made_here) continue;
    numbers.insert(one.number);
    if (one.lkey != 0) lkeys.insert(one.lkey);
  }
  const std::vector<const KernelObject*>& ours = owned.ours[kind];
  // What was left at a close may pin its context.
  const bool pinned = listed == Listed::kContext && std::any_of(seen.begin(), seen.end(), [&](const Seen& one) {
                        return one.device == device && one.made_here && !one.sure && one.kind != Listed::kContext;
                      });
  if (ours.size() > known && !pinned) {
    difference.unwatched = ours.size() - known;
    for (const KernelObject* object : ours) {
      const bool unknown = listed == Listed::kQp   ? numbers.count(object->number) == 0
                           : listed == Listed::kMr ? object->lkey != 0 && lkeys.count(object->lkey) == 0
                                                   : made_here == 0;
      if (unknown) difference.which.push_back(*object);
    }
    if (difference.which.size() > difference.unwatched) difference.which.clear();  // they cannot be told apart after all
  }
  const uint64_t most = ours.size() + owned.unknown[kind];
  if (sure > most) {
    uint64_t missing = sure - most;
    for (size_t i = 0; i < seen.size() && missing > 0; ++i) {
      const Seen& one = seen[i];
      if (one.device != device || one.kind != listed || !one.sure) continue;
      const bool gone = most == 0 || (listed == Listed::kQp && owned.numbers[kind].count(one.number) == 0) ||
                        (listed == Listed::kMr && owned.has_lkeys && owned.lkeys.count(one.lkey) == 0);
      if (!gone) continue;
      difference.gone.push_back(i);
      --missing;
    }
  }
  return difference;
}

bool IsOurs(int32_t thread) { return syscall(SYS_tgkill, ProcessId(), thread, 0) == 0; }

void Sleep(long nanoseconds) {
  const timespec time = {0, nanoseconds};
  nanosleep(&time, nullptr);
}

Number NumberOf(const KernelObject& object) {
  switch (object.kind) {
    case Listed::kQp: return {"qpn", object.number, true};
    case Listed::kMr: return object.lkey != 0 ? Number{"lkey", object.lkey, true} : Number{"mrn", object.number, false};
    case Listed::kPd: return {"pdn", object.number, false};
    case Listed::kCq: return {"cqn", object.number, false};
    case Listed::kSrq: return {"srqn", object.number, false};
    case Listed::kContext: return {"ctxn", object.number, false};
  }
  return {};
}

void Report(Checker& checker, Call* call, const Difference& difference, uint64_t count, double since) {
  const char* kind = kNames[static_cast<size_t>(difference.kind)];
  std::string numbers;
  for (size_t i = 0; i < difference.which.size() && i < kMostNamed; ++i) {
    numbers += (i == 0 ? ": " : ", ") + TextOf(NumberOf(difference.which[i]), kind);
  }
  if (difference.which.size() > kMostNamed) numbers += ", ...";
  const Statement says = Is<Sentence::kUnwatchedObject>(count, kind, difference.device, numbers);
  Finding finding = call != nullptr ? FindingOf(Rule::kUnwatchedObject, *call, says)
                                    : FindingAtExit(Rule::kUnwatchedObject, says);
  if (checker.options().strict) finding.severity = Severity::kError;
  finding.has_object = true;
  finding.object.kind = kind;
  finding.object.device = difference.device;
  finding.object.origin = NameOf(Origin::kUnknown);
  if (!difference.which.empty()) {
    finding.object.numbers.push_back(NumberOf(difference.which.front()));
    finding.object.bytes = difference.which.front().length;
  }
  finding.adds.push_back(since < 0 ? Is<Sentence::kFirstComparison>() : Is<Sentence::kNotThereBefore>(Seconds{since}));
  checker.parts().find_bypasses(checker);
  std::string creators;
  for (const std::string& sentence : checker.UnwatchedSentences()) creators += (creators.empty() ? "" : "; ") + sentence;
  finding.adds.push_back(creators.empty() ? Is<Sentence::kNoUntrackedCreator>() : Is<Sentence::kUntrackedCreators>(creators));
  checker.reporter().Say(std::move(finding));
}

// What is new since the last time.
void Settle(Checker& checker, Call* call, const std::vector<KernelDevice>& kernel, const std::vector<Seen>& seen,
            const std::vector<Difference>& differences) {
  JudgeState& state = checker.judges();
  struct News {
    const Difference* difference;
    uint64_t count;
    double since;
  };
  std::vector<News> news;
  {
    QuietLock lock(&state.witness_mutex);
    for (const KernelDevice& device : kernel) {
      double since = -1;
      const auto before = state.compared.find(device.name);
      if (before != state.compared.end()) since = AgeOf(before->second);
      for (const Difference& difference : differences) {
        if (difference.device != device.name) continue;
        uint64_t& reported = state.unwatched[{device.name, static_cast<uint8_t>(difference.kind)}];
        if (difference.unwatched > reported) news.push_back({&difference, difference.unwatched - reported, since});
        reported = difference.unwatched;
      }
      state.compared[device.name] = NowStamp();
      state.verified_kinds |= device.listed;
    }
  }
  for (const News& one : news) Report(checker, call, *one.difference, one.count, one.since);
  std::map<Listed, uint64_t> dropped;
  for (const Difference& difference : differences) {
    for (const size_t i : difference.gone) {
      const Found found = checker.ledger().Pin(checker.ledger().Get(seen[i].slot).kind, checker.ledger().Get(seen[i].slot).handle);
      if (found.slot == 0) continue;
      if (found.slot == seen[i].slot && checker.ledger().Get(found.slot).serial == seen[i].serial) {
        checker.ledger().Forget(found.slot);
        ++dropped[difference.kind];
      }
      checker.ledger().Unpin(found.slot);
    }
  }
  for (const auto& [kind, count] : dropped) {
    checker.Unwatched(Is<Sentence::kDestroyedUnseen>(count, kNames[static_cast<size_t>(kind)]));
  }
}

// One at a time; another thread's comparison is as good as this one's. One that a signal handler jumped out of, or whose
// thread has exited, is over.
class Comparison {
 public:
  explicit Comparison(std::atomic<uint32_t>* by) : by_(by) {
    uint32_t holder = by->load();
    const uint32_t self = ThisThreadId();
    if (holder != 0 && holder != self && IsOurs(static_cast<int32_t>(holder))) return;
    holds_ = by->compare_exchange_strong(holder, self);
  }
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;
  ~Comparison() {
    if (holds_) by_->store(0);
  }
  bool holds() const { return holds_; }

 private:
  std::atomic<uint32_t>* const by_;
  bool holds_ = false;
};

// Which of the contexts that the kernel has more are closed ones nobody can say; so many are not held against the program.
std::vector<Difference> DifferencesNow(Checker& checker, const std::vector<KernelDevice>& kernel, const std::vector<Seen>& seen) {
  std::vector<Difference> differences = Differences(kernel, seen, &IsOurs);
  JudgeState& state = checker.judges();
  QuietLock lock(&state.witness_mutex);
  for (Difference& difference : differences) {
    if (difference.kind != Listed::kContext || difference.unwatched == 0) continue;
    const auto closed = state.closed.find(difference.device);
    if (closed == state.closed.end()) continue;
    difference.unwatched -= std::min(difference.unwatched, closed->second);
    difference.which.clear();
  }
  return differences;
}

bool Different(const std::vector<Difference>& differences) {
  return std::any_of(differences.begin(), differences.end(),
                     [](const Difference& one) { return one.unwatched != 0 || !one.gone.empty(); });
}

}  // namespace

std::vector<Difference> Differences(const std::vector<KernelDevice>& kernel, const std::vector<Seen>& seen,
                                    const std::function<bool(int32_t)>& is_ours) {
  std::vector<Difference> differences;
  for (const KernelDevice& device : kernel) {
    const Owned owned = ByOwner(device, is_ours);
    for (size_t kind = 0; kind < kListedKinds; ++kind) {
      if ((device.listed & 1u << kind) != 0) {
        differences.push_back(Compare(owned, seen, device.name, static_cast<Listed>(kind)));
      }
    }
  }
  return differences;
}

void CompareWithKernel(Checker& checker, Call* call) {
  if (checker.options().verify != Verify::kKernel) return;
  if (Frugal()) return checker.Unwatched(Is<Sentence::kNotVerified>("the program forbids itself system calls (seccomp)"));
  const Comparison comparison(&checker.judges().comparing);
  if (!comparison.holds()) return;
  const bool alone = !HasOtherThreads();
  bool settled = false;
  for (int i = 0; i < kTries && !settled; ++i) {
    uint64_t calls = CallsOfAllThreads();
    std::vector<KernelDevice> kernel;
    const int error = ReadKernelList(&kernel);
    if (error != 0) {
      checker.Unwatched(Is<Sentence::kNotVerified>("the kernel's list cannot be read: " + ErrnoText(error)));
      settled = true;
      break;
    }
    std::vector<Seen> seen = SeenObjects(checker);
    std::vector<Difference> differences = DifferencesNow(checker, kernel, seen);
    if (!alone && Different(differences)) {
      // Another thread may be inside a create or a destroy. What still differs after a while without any call is so.
      Sleep(kCalm);
      if (CallsOfAllThreads() != calls) continue;
      kernel.clear();
      if (ReadKernelList(&kernel) != 0) continue;
      seen = SeenObjects(checker);
      differences = DifferencesNow(checker, kernel, seen);
    }
    if (!alone && CallsOfAllThreads() != calls) continue;
    Settle(checker, call, kernel, seen, differences);
    settled = true;
  }
  if (!settled) checker.Unwatched(Is<Sentence::kNotVerified>("other threads were creating and destroying objects all the time"));
}

void JudgeKernelList(Checker& checker, Call* call, const std::vector<KernelDevice>& kernel) {
  const std::vector<Seen> seen = SeenObjects(checker);
  Settle(checker, call, kernel, seen, DifferencesNow(checker, kernel, seen));
}

void NoteClosed(Checker& checker, const Record& context) {
  if (checker.options().verify != Verify::kKernel) return;
  std::string device = DeviceOf(checker, context);
  JudgeState& state = checker.judges();
  QuietLock lock(&state.witness_mutex);
  ++state.closed[std::move(device)];
}

void NoteInherited(Checker& checker) {
  std::vector<KernelDevice> kernel;
  if (Frugal() || ReadKernelList(&kernel) != 0) return;
  uint64_t count = 0;
  {
    JudgeState& state = checker.judges();
    QuietLock lock(&state.witness_mutex);
    for (const Difference& difference : Differences(kernel, {}, &IsOurs)) {
      if (difference.unwatched == 0) continue;
      state.unwatched[{difference.device, static_cast<uint8_t>(difference.kind)}] = difference.unwatched;
      count += difference.unwatched;
    }
  }
  if (count > 0) checker.Unwatched(Is<Sentence::kInheritedObjects>(count));
}

bool KernelListsOurs() {
  std::vector<KernelDevice> kernel;
  if (Frugal() || ReadKernelList(&kernel) != 0) return false;
  for (const KernelDevice& device : kernel) {
    for (const KernelObject& object : device.objects) {
      if (!object.of_kernel && object.thread != 0 && IsOurs(object.thread)) return true;
    }
  }
  return false;
}

std::vector<std::string> VerifiedKinds(Checker& checker) {
  std::vector<std::string> names;
  QuietLock lock(&checker.judges().witness_mutex);
  for (size_t kind = 0; kind < kListedKinds; ++kind) {
    if ((checker.judges().verified_kinds & 1u << kind) != 0) names.emplace_back(kNames[kind]);
  }
  return names;
}

}  // namespace rdmacheck
