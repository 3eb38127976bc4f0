#include "interpose/fault/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <string>

#include "interpose/fault/call_stack.h"
#include "interpose/fault/device_loss.h"
#include "interpose/fault/spec.h"
#include "interpose/fault/teller.h"
#include "interpose/fault/verb_names.h"
#include "interpose/base/clock.h"
#include "interpose/base/quiet_lock.h"
#include "report/suppressions.h"

namespace rdmacheck::fault {
namespace {

constexpr size_t kMostVerbs = 512;
constexpr uint64_t kMostRecorded = 20000;  // calls of one process
constexpr uint64_t kMostTold = 10;         // of one fault

struct Live {
  Fault fault;
  std::atomic<uint64_t> seen{0};  // calls that are its
  std::atomic<uint64_t> done{0};
};

// Made once, at the first verb, and never destroyed.
struct Plan {
  Live faults[kMaxFaults];
  size_t count = 0;
  uint64_t begin = 0;            // CLOCK_MONOTONIC, of the first verb
  const char* record = nullptr;  // the file for a record of calls
};
Plan* plan = nullptr;

struct PerVerb {
  std::atomic<uint64_t> faults{0};  // which are about it
  std::atomic<uint64_t> calls{0};
};
PerVerb verbs[kMostVerbs];
std::atomic<bool> started{false};
std::atomic<uint64_t> recorded{0};
Mutex starting;

// The delays inside the get that this thread is in. A thread that leaves one by longjmp() only waits once too often.
thread_local uint64_t inside __attribute__((tls_model("initial-exec"))) = 0;

void Start() {
  const int saved = errno;
  QuietLock lock(&starting);
  if (started.load(std::memory_order_acquire)) return;
  const Spec spec = ParseSpec(getenv("RDMACHECK_FAULTS"));
  for (const Complaint& complaint : spec.complaints) {
    Tell(InWords("RDMACHECK_FAULTS", complaint) + "; this fault is left out");
  }
  auto* const made = new Plan;
  made->begin = NanosOf(CLOCK_MONOTONIC);
  for (const Fault& fault : spec.faults) {
    if (!fault.program.empty() && !MatchesWildcard(fault.program, program_invocation_short_name)) continue;
    if (made->count == kMaxFaults) {
      Tell("RDMACHECK_FAULTS: more than 63 faults; the others are left out");
      break;
    }
    made->faults[made->count++].fault = fault;
  }
  plan = made;
  for (size_t i = 0; i < made->count; ++i) {
    const Fault& fault = made->faults[i].fault;
    if (fault.does == Does::kRecord) made->record = fault.file.c_str();
    if (fault.does == Does::kDisassociate) ExpectDeviceLoss(fault);
    for (size_t verb = 0; verb < kVerbCount && !fault.verb.empty(); ++verb) {
      if (fault.does == Does::kFail && !kVerbNames[verb].can_fail) continue;
      if (!MatchesWildcard(fault.verb, kVerbNames[verb].name)) continue;
      verbs[verb].faults.fetch_or(uint64_t{1} << i, std::memory_order_relaxed);
    }
  }
  if (made->record != nullptr) {
    // Every verb is looked at.
    for (PerVerb& verb : verbs) verb.faults.fetch_or(kRecordBit, std::memory_order_relaxed);
  }
  started.store(true, std::memory_order_release);
  errno = saved;
}

// The same calls in each run with the same seed, whichever threads make them.
bool Hits(const Fault& fault, uint64_t n) {
  if (fault.rate >= 1) return true;
  uint64_t x = fault.seed * 0x9E3779B97F4A7C15u + n * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  x ^= x >> 31;
  return static_cast<double>(x >> 11) < fault.rate * 9007199254740992.0;
}

void Wait(uint64_t nanoseconds) {
  timespec left{static_cast<time_t>(nanoseconds / 1'000'000'000), static_cast<long>(nanoseconds % 1'000'000'000)};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

// One line a call, in one write(2): process, program, verb, its number, and the place that it is made from.
void Record(size_t verb, uint64_t n, const CallStack& stack) {
  if (recorded.fetch_add(1, std::memory_order_relaxed) >= kMostRecorded) return;
  char line[512];
  const int length = snprintf(line, sizeof(line), "%d %s %llu %llx %s\n", getpid(), kVerbNames[verb].name,
                              static_cast<unsigned long long>(n), static_cast<unsigned long long>(PlaceOf(stack)),
                              program_invocation_short_name);
  const long fd = syscall(SYS_openat, AT_FDCWD, plan->record, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || length <= 0) return;
  syscall(SYS_write, fd, line, static_cast<size_t>(length) < sizeof(line) ? static_cast<size_t>(length) : sizeof(line) - 1);
  syscall(SYS_close, fd);
}

// The number of this call among those of the fault; 0 if it is none of them.
uint64_t NumberOf(Live* live, const CallStack& stack, uint64_t now) {
  const Fault& fault = live->fault;
  if (fault.does != Does::kDisassociate && fault.after != 0 && now - plan->begin < fault.after) return 0;
  if (!fault.caller.empty() && !HasCaller(stack, fault.caller)) return 0;
  const uint64_t n = live->seen.fetch_add(1, std::memory_order_relaxed) + 1;
  if ((fault.nth != 0 && n != fault.nth) || !Hits(fault, n)) return 0;
  if (live->done.fetch_add(1, std::memory_order_relaxed) >= fault.times && fault.times != 0) return 0;
  return n;
}

template <class F>
void ForEach(uint64_t set, F f) {
  for (; set != 0; set &= set - 1) f(plan->faults[__builtin_ctzll(set)], set & -set);
}

}  // namespace

bool Concerns(size_t verb) {
  if (__builtin_expect(!started.load(std::memory_order_acquire), false)) Start();
  return verbs[verb].faults.load(std::memory_order_relaxed) != 0;
}

void BeginPassage(size_t verb, bool is_cm, Passage* passage) {
  const int saved = errno;
  passage->verb = verb;
  CallStack stack;
  if (IsInnerCall(is_cm, &stack)) {
    errno = saved;
    return;
  }
  const uint64_t number = verbs[verb].calls.fetch_add(1, std::memory_order_relaxed) + 1;
  const uint64_t now = NanosOf(CLOCK_MONOTONIC);
  if (plan->record != nullptr) Record(verb, number, stack);
  uint64_t wait = 0;
  ForEach(verbs[verb].faults.load(std::memory_order_relaxed) & ~kRecordBit, [&](Live& live, uint64_t bit) {
    const Fault& fault = live.fault;
    const uint64_t n = NumberOf(&live, stack, now);
    if (n == 0) return;
    switch (fault.does) {
      case Does::kFail:
        if (passage->error != 0) return;
        passage->error = fault.error != 0 ? fault.error : UsualError(kVerbNames[verb].deed);
        TellFault({fault.text.c_str(), kVerbNames[verb].name, n, passage->error, live.done.load(std::memory_order_relaxed) <= kMostTold,
                   &stack, nullptr});
        return;
      case Does::kDelay:
        if (fault.place == Place::kBefore) {
          wait += fault.delay;
        } else {
          passage->delays |= bit;
        }
        return;
      case Does::kDisassociate:
        passage->losses |= bit;
        return;
      case Does::kRecord:
        return;
    }
  });
  if (wait != 0) Wait(wait);
  errno = saved;
}

void EndPassage(const Passage& passage) {
  if ((passage.delays | passage.losses) == 0) return;
  const int saved = errno;
  ForEach(passage.losses, [&](Live& live, uint64_t) { LoseDevices(live.fault, kVerbNames[passage.verb].name); });
  ForEach(passage.delays, [](Live& live, uint64_t) {
    if (live.fault.place == Place::kAfter) Wait(live.fault.delay);
  });
  errno = saved;
}

void AfterRead() {
  if (__builtin_expect(inside == 0, true)) return;
  const int saved = errno;
  ForEach(inside, [](Live& live, uint64_t) {
    if (live.fault.place == Place::kAfterRead) Wait(live.fault.delay);
  });
  errno = saved;
}

InsideGet::InsideGet(const Passage& passage) : before_(inside) { inside = passage.delays; }
InsideGet::~InsideGet() { inside = before_; }

}  // namespace rdmacheck::fault
