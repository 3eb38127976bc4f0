#include "interpose/checker/checker.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "interpose/base/quiet_lock.h"
#include "interpose/base/clock.h"
#include "interpose/base/journal.h"
#include "interpose/base/own_stack.h"
#include "interpose/base/stack_bounds.h"
#include "interpose/checker/depot_frames.h"
#include "interpose/checker/fork.h"
#include "interpose/checker/guard.h"
#include "interpose/checker/snapshots.h"
#include "interpose/libraries/python.h"
#include "interpose/libraries/real_symbol.h"
#include "interpose/ledger/number_names.h"
#include "interpose/options/run_mark.h"
#include "report/errno_name.h"
#include "report/process_id.h"
#include "report/version.h"

namespace rdmacheck {
namespace {

Mutex making;

// What of the memory that a Checker takes is not the arena's.
uint32_t* MapForkMark() {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (madvise(page, 4096, MADV_WIPEONFORK) != 0) {
    munmap(page, 4096);  // a kernel before 4.14
    return nullptr;
  }
  auto* mark = static_cast<uint32_t*>(page);
  *mark = 1;  // kInOrder
  return mark;
}

// The last resort, from which nothing can be missing.
void WriteOutOfMemory() {
  static std::atomic<bool> told{false};
  if (told.exchange(true)) return;
  constexpr char kText[] = "==rdmacheck: memory is out; some calls of this process are not watched\n";
  if (write(STDERR_FILENO, kText, sizeof(kText) - 1) < 0) return;
}

}  // namespace

Checker* Checker::Make(const Parts& parts) {
  QuietLock lock(&making);
  Checker* checker = the_checker.load(std::memory_order_acquire);
  if (checker != nullptr) return checker;
  static bool hopeless = false;  // it was tried once: a program out of address space is not asked at each verb
  if (hopeless) return nullptr;
  CallWithAmpleStack([&] {
    try {
      checker = new Checker(parts);
    } catch (const std::bad_alloc&) {
    }
  });
  if (checker == nullptr || !checker->ledger_.usable()) {
    hopeless = true;
    WriteOutOfMemory();
    return nullptr;
  }
  the_checker.store(checker, std::memory_order_release);
  return checker;
}

// The first thread of this process that comes here does it, others wait for it.
void Checker::PutInOrder() {
  for (;;) {
    const uint32_t seen = __atomic_load_n(fork_mark_, __ATOMIC_ACQUIRE);
    if (seen == kInOrder) return;
    if (!PutInOrderIf(seen)) sched_yield();
  }
}

bool Checker::PutInOrderIf(uint32_t seen) {
  const QuietScope quiet;
  if (seen == kUnderWay ||
      !__atomic_compare_exchange_n(fork_mark_, &seen, kUnderWay, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    return false;
  }
  if (seen == kForked) {
    ForkInChild();
    return true;
  }
  Guarded(*this, [this] {
    if (journal_due_.exchange(false)) StartJournal();
    if (journal_full_due_.exchange(false)) SayJournalFull();
  });
  __atomic_store_n(fork_mark_, kInOrder, __ATOMIC_RELEASE);
  if (journal_full_due_.load()) NoteDue(&journal_full_due_);
  return true;
}

void Checker::SeeForkAtExit() {
  if (fork_mark_ == nullptr || __atomic_load_n(fork_mark_, __ATOMIC_ACQUIRE) != kForked) return;
  PutInOrderIf(kForked);
}

// Takes no lock: it may be called with some held.
void Checker::NoteDue(std::atomic<bool>* what) {
  what->store(true);
  uint32_t in_order = kInOrder;
  __atomic_compare_exchange_n(fork_mark_, &in_order, kDue, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void Checker::AwaitJournal() {
  const bool wanted = !options_.journal_path.empty() || (!options_.journal_path_given && UnderRun());
  if (fork_mark_ != nullptr && wanted && JournalBase() == nullptr) NoteDue(&journal_due_);
}

void Checker::OnJournalFull() {
  if (Checker* checker = IfMade()) checker->NoteDue(&checker->journal_full_due_);
}

void Checker::SayJournalFull() { TellOnce(Is<Sentence::kJournalFull>()); }

// Before anything is made that it would not know, but for what a forked child has from its parent.
void Checker::StartJournal() {
  if (fork_mark_ == nullptr) return;  // nor could a child be kept from writing
  const bool by_run = options_.journal_path.empty() && !options_.journal_path_given;
  const PathValues& values = reporter().sink().values();
  std::vector<std::string> complaints;
  const std::string path =
      by_run ? RunJournalPath() : ExpandPath(options_.journal_path, values, ProcessId(), &complaints);
  if (path.empty()) return;
  for (const std::string& complaint : complaints) reporter().Tell(complaint);
  JournalStart start;
  start.flags = (options_.strict ? journal::kStrict : 0u) | (options_.check_at_exit ? 0u : journal::kNoExitCheck) |
                (disassoc_destroy() ? journal::kDisassoc : 0u);
  start.own_module = OwnModule(&modules_);
  start.started_monotonic = Start().monotonic;
  start.started_epoch = static_cast<uint64_t>(Start().epoch * 1e9);
  start.on_full = &OnJournalFull;
  const int error = JournalOpen(path, start);
  if (error != 0) {
    const int owner = error == EEXIST ? JournalOwner(path) : 0;
    if (owner > 0) {
      TellOnce(Is<Sentence::kJournalTaken>(path, owner));
    } else {
      TellOnce(Is<Sentence::kNoJournal>(path, ErrnoText(error)));
    }
    return;
  }
  for (size_t kind = 1; kind < kKindCount; ++kind) {
    JournalRecord(journal::RecordType::kKind, kind, nullptr, 0, kKindNames[kind]);
  }
  for (const NumberName& one : kNumberNames) {
    const journal::NumberName body{static_cast<uint32_t>(one.kind), one.word, static_cast<uint8_t>(one.part), one.hex, 0};
    JournalRecord(journal::RecordType::kNumber, 0, &body, sizeof(body), one.name);
  }
  JournalRecord(journal::RecordType::kProcess, journal::kExe, nullptr, 0, values.exe);
  JournalRecord(journal::RecordType::kProcess, journal::kHost, nullptr, 0, values.host);
  JournalRecord(journal::RecordType::kProcess, journal::kRank, nullptr, 0, values.rank);
  {
    QuietLock lock(&mutex_);
    for (size_t i = 0; i < names_.size(); ++i) JournalRecord(journal::RecordType::kDevice, i + 1, nullptr, 0, names_[i]);
  }
  modules_.WriteJournal();
  depot_.WriteJournal();
  RunMarkJournal(path.c_str());
}

void Checker::ForkChildEarly() { making.Renew(); }

void Checker::CountOutOfMemory() {
  if (out_of_memory_.fetch_add(1) == 0) WriteOutOfMemory();
}

Checker::Checker(const Parts& parts) : parts_(parts), fork_mark_(MapForkMark()) {
  Start();
  OnThreadEnd(parts.thread_ends);
  NoteMainStackLimit();
  ParseResult parsed = ParseOptions(getenv("RDMACHECK_OPTIONS"));
  options_ = std::move(parsed.options);
  auto fill = [this](Report* report) { parts_.fill_report(*this, report); };
  reporter_.store(new Reporter(options_, &depot_, &modules_, fill));
  for (const std::string& complaint : parsed.complaints) reporter().Tell(complaint);
  judges_.store(parts.make_judges(nullptr));
  if (options_.python) LookForPython();
  RunMarkVerbs();
  StartJournal();
  if (UnderRun() && options_.snapshot_signal == 0) StartRunSnapshots(reporter());
  if (options_.verbosity >= 1) {
    const std::string libibverbs = PathOfLoaded(Library::kIbverbs), librdmacm = PathOfLoaded(Library::kRdmacm);
    const uint32_t hooked = parts.exported_verbs;
    reporter().Tell(libibverbs.empty()  ? Is<Sentence::kStartedWithout>(Version(), hooked)
                    : librdmacm.empty() ? Is<Sentence::kStarted>(Version(), libibverbs, hooked)
                                        : Is<Sentence::kStartedWithCm>(Version(), libibverbs, librdmacm, hooked));
    reporter().Tell(Is<Sentence::kDataPath>());
  }
}

uint32_t Checker::InternName(const std::string& name) {
  QuietLock lock(&mutex_);
  auto it = std::find(names_.begin(), names_.end(), name);
  if (it == names_.end()) {
    it = names_.insert(names_.end(), name);
    JournalRecord(journal::RecordType::kDevice, names_.size(), nullptr, 0, name);
  }
  return static_cast<uint32_t>(it - names_.begin()) + 1;
}

std::string Checker::NameOf(uint32_t id) const {
  QuietLock lock(&mutex_);
  return id == 0 || id > names_.size() ? std::string() : names_[id - 1];
}

void Checker::Unwatched(const Statement& statement) {
  const std::string sentence = Words(statement);
  QuietLock lock(&mutex_);
  if (std::find(unwatched_.begin(), unwatched_.end(), sentence) == unwatched_.end()) unwatched_.push_back(sentence);
}

std::vector<std::string> Checker::UnwatchedSentences() const {
  std::vector<std::string> sentences;
  {
    QuietLock lock(&mutex_);
    sentences = unwatched_;
  }
  const uint64_t lost = out_of_memory_.load();
  if (lost > 0) sentences.push_back(Words(Is<Sentence::kCallsLost>(lost)));
  return sentences;
}

void Checker::TellOnce(const Statement& statement) {
  const std::string sentence = Words(statement);
  {
    QuietLock lock(&mutex_);
    if (std::find(told_.begin(), told_.end(), sentence) != told_.end()) return;
    told_.push_back(sentence);
  }
  reporter().Tell(sentence);
}

int Checker::AddCheckpoint() {
  QuietLock lock(&mutex_);
  checkpoints_.push_back(ledger_.Mark());
  return static_cast<int>(checkpoints_.size());
}

bool Checker::SerialAtCheckpoint(int id, Serial* serial) const {
  QuietLock lock(&mutex_);
  if (id < 1 || static_cast<size_t>(id) > checkpoints_.size()) return false;
  *serial = checkpoints_[static_cast<size_t>(id) - 1];
  return true;
}

void Checker::ForkPrepare() {
  UnwinderForkPrepare();
  ledger_.ForkPrepare();
  modules_.mutex()->Freeze();
}

void Checker::ForkParent() {
  modules_.mutex()->Thaw();
  ledger_.ForkParent();
  UnwinderForkParent();
}

void Checker::ForkChild() {
  modules_.ForkChild();
  ledger_.ForkChild();
  ThreadsForkChild();
  if (mutex_.Renew()) {
    new (&names_) std::vector<std::string>;
    new (&unwatched_) std::vector<std::string>;
    new (&told_) std::vector<std::string>;
    new (&checkpoints_) std::vector<Serial>;
  }
  forked_ = true;
  judges_.store(parts_.make_judges(judges_.load()));
  // What the parent found is the parent's to tell. Its reporter may be in the middle of a text: it is left as it lies.
  auto fill = [this](Report* report) { parts_.fill_report(*this, report); };
  reporter_.store(new Reporter(options_, &depot_, &modules_, fill));
  depot_.ForgetCounts();
  if (fork_mark_ == nullptr) return;
  journal_full_due_.store(false);
  __atomic_store_n(fork_mark_, kInOrder, __ATOMIC_RELEASE);
  AwaitJournal();  // at the first verb, for most children exec
}

}  // namespace rdmacheck
