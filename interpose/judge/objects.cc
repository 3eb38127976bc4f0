#include "interpose/judge/objects.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <unordered_map>

#include "interpose/judge/timeline.h"
#include "interpose/judge/witness.h"
#include "interpose/base/clock.h"
#include "interpose/checker/checker.h"
#include "interpose/ledger/number_names.h"
#include "interpose/libraries/real_symbol.h"

namespace rdmacheck {
namespace {

const char* OwnerNameOf(Module::Owner owner) {
  switch (owner) {
    case Module::Owner::kLibrdmacm: return "librdmacm";
    case Module::Owner::kDirectVerbs: return "provider";
    case Module::Owner::kLibibverbs: return "libibverbs";
    case Module::Owner::kProgram: break;
  }
  return "";
}

}  // namespace

std::vector<Number> NumbersFor(const Record& record) {
  const uint64_t words[] = {record.numbers.a, record.numbers.b, record.numbers.c};
  std::vector<Number> numbers;
  for (const NumberName& one : kNumberNames) {
    if (one.kind == record.kind) numbers.push_back({one.name, NumberIn(words[one.word], one.part), one.hex});
  }
  return numbers;
}

uint64_t BytesOf(const Record& record) {
  return record.kind == Kind::kMr || record.kind == Kind::kBuf ? record.numbers.b : 0;
}

namespace {
thread_local ThreadsDescribedOnce* described __attribute__((tls_model("initial-exec"))) = nullptr;
}

ThreadsDescribedOnce::ThreadsDescribedOnce() : outer_(described) { described = this; }
ThreadsDescribedOnce::~ThreadsDescribedOnce() { described = outer_; }

ThreadRef DescribeThread(int32_t tid) {
  if (described != nullptr) {
    if (auto it = described->threads.find(tid); it != described->threads.end()) return it->second;
  }
  ThreadRef thread;
  thread.tid = tid;
  thread.name = ThreadName(tid);
  thread.exited = tid != 0 && !ThreadLives(tid);
  if (described != nullptr) described->threads[tid] = thread;
  return thread;
}

std::string DeviceOf(Checker& checker, const Record& record) {
  if (record.kind == Kind::kContext) return checker.NameOf(static_cast<uint32_t>(record.numbers.c));
  for (Slot parent : record.parents) {
    const Slot context = checker.ledger().ContextOf(parent);
    if (context != 0) return checker.NameOf(static_cast<uint32_t>(checker.ledger().Get(context).numbers.c));
  }
  return std::string();
}

std::string OwnerNameOf(Checker& checker, const Record& record) {
  const StackDepot::Node* node = checker.depot().Get(record.stack);
  return node == nullptr ? std::string() : OwnerNameOf(node->owner);
}

bool IsProgramsOwn(Checker& checker, const Record& record) {
  const StackDepot::Node* node = checker.depot().Get(record.stack);
  return node == nullptr || node->owner == Module::Owner::kProgram;
}

bool IsForProgram(Checker& checker, const Record& record) {
  const StackDepot::Node* node = checker.depot().Get(record.stack);
  return node == nullptr || node->owner == Module::Owner::kProgram || node->for_program.load(std::memory_order_relaxed);
}

bool FdIsOpen(const Record& record) {
  struct stat file;
  return fstat(static_cast<int>(record.numbers.a), &file) == 0 && file.st_dev == record.numbers.b &&
         file.st_ino == record.numbers.c;
}

bool Counts(Checker& checker, const Record& record) {
  if (record.life == Life::kZombie || record.life == Life::kFree) return false;
  if (record.Has(kInherited) || record.Has(kIgnored) || record.origin == Origin::kUnknown) return false;
  if (record.kind == Kind::kDmabufFd && !FdIsOpen(record)) return false;
  return IsProgramsOwn(checker, record);
}

ObjectRef Describe(Checker& checker, const Record& record) {
  ObjectRef object;
  object.kind = NameOf(record.kind);
  object.serial = record.serial;
  object.device = DeviceOf(checker, record);
  object.numbers = NumbersFor(record);
  object.age = AgeOf(record.born);
  object.origin = NameOf(record.origin);
  object.owner = OwnerNameOf(checker, record);
  // What librdmacm made for an id of the program is the program's affair.
  for (Slot parent : record.parents) {
    if (!object.owner.empty() && checker.ledger().Get(parent).kind == Kind::kCmId) object.owner.clear();
  }
  if (record.life == Life::kLive || record.life == Life::kDying) {  // a dead one's parents may be others by now
    for (Slot parent : record.parents) {
      const Record up = checker.ledger().Get(parent);
      if (up.serial != 0) object.parents.push_back({NameOf(up.kind), up.serial});
    }
  }
  object.thread = DescribeThread(record.thread);
  if (record.Has(kInherited)) object.thread.exited = false;  // a thread of the parent's: nothing is known of it here
  object.created = record.stack;
  object.bytes = BytesOf(record);
  if (record.failure.verb != nullptr) {
    object.last_failed_call = {record.failure.verb, record.failure.result, EpochOf(record.failure.when)};
  }
  if (record.Has(kRefused)) {
    object.remark = Words(record.failure.times > 1 ? Is<Sentence::kRemarkRefusedAgain>() : Is<Sentence::kRemarkRefused>());
  }
  return object;
}

ObjectRef DescribeDead(Checker& checker, const DeadRecord& dead) {
  ObjectRef object = Describe(checker, dead.object);
  object.remark = Words(Is<Sentence::kRemarkDestroyedBy>(dead.destroyed_verb == nullptr ? "?" : dead.destroyed_verb));
  return object;
}

void AddRelated(Checker& checker, Finding* finding, Role role, const std::vector<Record>& records) {
  std::map<std::pair<Kind, uint32_t>, uint64_t> rest;
  for (const Record& record : records) {
    if (finding->related.size() < kMaxRelated) {
      finding->related.push_back({role, Describe(checker, record)});
    } else {
      ++rest[{record.kind, record.stack}];
    }
  }
  for (const auto& [key, count] : rest) finding->unlisted.push_back({role, NameOf(key.first), key.second, count});
}

std::vector<std::vector<const Record*>> GroupByStack(const std::vector<Record>& records) {
  std::unordered_map<uint64_t, std::vector<const Record*>> groups;
  for (const Record& record : records) {
    groups[static_cast<uint64_t>(record.kind) << 32 | record.stack].push_back(&record);
  }
  std::vector<std::vector<const Record*>> sorted;
  for (auto& [key, group] : groups) sorted.push_back(std::move(group));
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.size() != b.size() ? a.size() > b.size() : a[0]->OlderThan(*b[0]);
  });
  return sorted;
}

void SetObject(Checker& checker, Finding* finding, const Record& record) {
  finding->has_object = true;
  finding->object = Describe(checker, record);
  if (record.stack != 0) finding->stacks.push_back({StackRole::kCreated, record.stack});
}

KindCounts CountKinds(const std::vector<Record>& records) {
  KindCounts counts;
  for (const Record& record : records) counts.Add(NameOf(record.kind));
  counts.SortByCount();
  return counts;
}

Finding FindingOf(Rule rule, Call& call, Statement says) {
  Finding finding = FindingAtExit(rule, std::move(says));
  finding.verb = call.verb();
  finding.thread = DescribeThread(call.tid());
  const uint32_t here = call.StackId();
  if (here != 0) finding.stacks.push_back({StackRole::kHere, here});
  return finding;
}

Finding FindingAtExit(Rule rule, Statement says) {
  Finding finding;
  finding.rule = rule;
  finding.severity = InfoOf(rule).severity;
  finding.says.push_back(std::move(says));
  finding.time = EpochNow();
  return finding;
}

// Those of the program that were destroyed last. Their numbers, threads and times, without stacks: that is what a
// picture of lifetimes needs, and a stack each would make small reports large.
std::vector<Destroyed> LastDestroyed(Checker& checker) {
  std::vector<DeadRecord> dead = checker.ledger().Dead();
  dead.erase(std::remove_if(dead.begin(), dead.end(),
                            [&](const DeadRecord& one) {
                              return one.object.Has(kInherited) || one.object.origin == Origin::kUnknown ||
                                     !IsProgramsOwn(checker, one.object);
                            }),
             dead.end());
  std::stable_sort(dead.begin(), dead.end(), [](const DeadRecord& a, const DeadRecord& b) {
    return a.destroyed_when != b.destroyed_when ? a.destroyed_when < b.destroyed_when
                                                : a.object.OlderThan(b.object);
  });
  if (dead.size() > kMaxDestroyedInReport) dead.erase(dead.begin(), dead.end() - kMaxDestroyedInReport);
  std::vector<Destroyed> destroyed;
  destroyed.reserve(dead.size());
  for (const DeadRecord& one : dead) {
    Destroyed& out = destroyed.emplace_back();
    out.object = Describe(checker, one.object);
    out.time = EpochOf(one.destroyed_when);
    out.thread = DescribeThread(one.destroyed_thread);
    if (one.destroyed_verb != nullptr) out.verb = one.destroyed_verb;
  }
  return destroyed;
}

void FillReport(Checker& checker, Report* report) {
  const ThreadsDescribedOnce once;
  report->process.written = EpochNow();
  report->summary.calls = CallsOfAllThreads();
  const std::vector<Record> all = checker.ledger().All();
  struct Count {
    uint64_t created = 0, alive = 0;
  };
  std::map<Kind, Count> kinds;
  std::map<uint32_t, uint64_t> alive_by_stack;
  std::vector<const Record*> alive;
  for (const Record& record : all) {
    if (record.life == Life::kZombie || record.Has(kInherited)) continue;
    if (record.kind == Kind::kDmabufFd && !FdIsOpen(record)) continue;
    if (!IsForProgram(checker, record)) continue;
    if (record.origin == Origin::kUnknown) continue;
    alive.push_back(&record);
    ++kinds[record.kind].alive;
    ++alive_by_stack[record.stack];
  }
  checker.depot().ForEach([&](const StackDepot::Node& node) {
    const uint64_t created = node.created.Sum();
    const bool counts = node.owner == Module::Owner::kProgram || node.for_program.load(std::memory_order_relaxed);
    if (created != 0 && counts) kinds[node.kind].created += created;
  });
  for (size_t kind = 0; kind < kKindCount; ++kind) {
    const uint64_t created = checker.depot().unplaced(static_cast<Kind>(kind));
    if (created != 0) kinds[static_cast<Kind>(kind)].created += created;
  }
  for (const auto& [kind, count] : kinds) {
    report->summary.kinds.push_back({NameOf(kind), count.created, count.created - count.alive, count.alive});
  }
  // A stack that holds more than a thousand, or most of a kind that has many, is where something grows.
  for (const auto& [stack, number] : alive_by_stack) {
    const StackDepot::Node* node = checker.depot().Get(stack);
    if (node == nullptr) continue;
    const uint64_t of_kind = kinds[node->kind].alive;
    if (number <= 1000 && !(of_kind >= 100 && number * 10 >= of_kind * 9)) continue;
    const uint64_t created = node->created.Sum();
    report->summary.growth.push_back({NameOf(node->kind), stack, created, created - number, number});
  }
  std::map<std::pair<uint32_t, std::string>, AliveGroup> groups;
  size_t listed = 0;
  std::unordered_map<Slot, std::string> device_of;  // by an only parent: objects are many, and these are few
  for (const Record* one : alive) {
    const Record& record = *one;
    std::string device;
    if (record.parents.size() == 1 && record.kind != Kind::kContext) {
      auto it = device_of.find(record.parents[0]);
      if (it == device_of.end()) it = device_of.emplace(record.parents[0], DeviceOf(checker, record)).first;
      device = it->second;
    } else {
      device = DeviceOf(checker, record);
    }
    AliveGroup& group = groups[{record.stack, device}];
    group.kind = NameOf(record.kind);
    group.device = device;
    group.stack = record.stack;
    ++group.count;
    group.bytes += BytesOf(record);
    if (record.failure.verb != nullptr) {
      group.last_failed_call = {record.failure.verb, record.failure.result, EpochOf(record.failure.when)};
    }
    if (group.objects.empty() || (group.objects.size() < kMaxListedObjects && listed < kMaxListedInReport)) {
      group.objects.push_back(Describe(checker, record));
      ++listed;
    }
  }
  for (auto& [key, group] : groups) report->alive.push_back(std::move(group));
  std::stable_sort(report->alive.begin(), report->alive.end(),
                   [](const AliveGroup& a, const AliveGroup& b) { return a.count > b.count; });
  report->destroyed = LastDestroyed(checker);
  report->timeline = TimelineOf(checker, 0);
  report->environment.libibverbs = PathOfLoaded(Library::kIbverbs);
  report->environment.librdmacm = PathOfLoaded(Library::kRdmacm);
  report->environment.disassoc_destroy = checker.disassoc_destroy();
  report->environment.hooks_plt = checker.parts().exported_verbs;
  report->environment.hooks_slots = checker.hooks_slots.load();
  report->environment.hooks_dlsym = checker.hooks_dlsym.load();
  report->environment.unwatched = checker.UnwatchedSentences();
  report->environment.verified = VerifiedKinds(checker);
}

}  // namespace rdmacheck
