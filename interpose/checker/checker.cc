#include "interpose/checker/checker.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "interpose/base/clock.h"
#include "interpose/base/own_stack.h"
#include "interpose/base/stack_bounds.h"
#include "interpose/checker/fork.h"
#include "interpose/checker/snapshots.h"
#include "interpose/libraries/real_symbol.h"
#include "interpose/options/run_mark.h"

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
  *mark = 1;
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
  MutexLock lock(&making);
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

void Checker::PutInOrder() {
  // The first thread of this process that comes here does it, others wait for it.
  uint32_t wiped = 0;
  if (__atomic_compare_exchange_n(fork_mark_, &wiped, 2, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    ForkInChild();
    return;
  }
  while (__atomic_load_n(fork_mark_, __ATOMIC_ACQUIRE) != 1) sched_yield();
}

void Checker::ForkChildEarly() { making.Renew(); }

void Checker::CountOutOfMemory() {
  if (out_of_memory_.fetch_add(1) == 0) WriteOutOfMemory();
}

Checker::Checker(const Parts& parts) : parts_(parts), fork_mark_(MapForkMark()) {
  Start();
  NoteMainStackLimit();
  ParseResult parsed = ParseOptions(getenv("RDMACHECK_OPTIONS"));
  options_ = std::move(parsed.options);
  auto fill = [this](Report* report) { parts_.fill_report(*this, report); };
  reporter_.store(new Reporter(options_, &depot_, &modules_, fill));
  for (const std::string& complaint : parsed.complaints) reporter().Tell(complaint);
  judges_.store(parts.make_judges(nullptr));
  RunMarkVerbs();
  if (UnderRun() && options_.snapshot_signal == 0) StartRunSnapshots(reporter());
  if (options_.verbosity >= 1) {
    const std::string libibverbs = PathOfLoaded(Library::kIbverbs), librdmacm = PathOfLoaded(Library::kRdmacm);
    const uint32_t hooked = parts.exported_verbs;
    reporter().Tell(libibverbs.empty()  ? Is<Sentence::kStartedWithout>(RDMACHECK_VERSION, hooked)
                    : librdmacm.empty() ? Is<Sentence::kStarted>(RDMACHECK_VERSION, libibverbs, hooked)
                                        : Is<Sentence::kStartedWithCm>(RDMACHECK_VERSION, libibverbs, librdmacm, hooked));
    reporter().Tell(Is<Sentence::kDataPath>());
  }
}

uint32_t Checker::InternName(const std::string& name) {
  MutexLock lock(&mutex_);
  auto it = std::find(names_.begin(), names_.end(), name);
  if (it == names_.end()) it = names_.insert(names_.end(), name);
  return static_cast<uint32_t>(it - names_.begin()) + 1;
}

std::string Checker::NameOf(uint32_t id) const {
  MutexLock lock(&mutex_);
  return id == 0 || id > names_.size() ? std::string() : names_[id - 1];
}

void Checker::Unwatched(const Statement& statement) {
  const std::string sentence = Words(statement);
  MutexLock lock(&mutex_);
  if (std::find(unwatched_.begin(), unwatched_.end(), sentence) == unwatched_.end()) unwatched_.push_back(sentence);
}

std::vector<std::string> Checker::UnwatchedSentences() const {
  std::vector<std::string> sentences;
  {
    MutexLock lock(&mutex_);
    sentences = unwatched_;
  }
  const uint64_t lost = out_of_memory_.load();
  if (lost > 0) sentences.push_back(Words(Is<Sentence::kCallsLost>(lost)));
  return sentences;
}

void Checker::TellOnce(const Statement& statement) {
  const std::string sentence = Words(statement);
  {
    MutexLock lock(&mutex_);
    if (std::find(told_.begin(), told_.end(), sentence) != told_.end()) return;
    told_.push_back(sentence);
  }
  reporter().Tell(sentence);
}

int Checker::AddCheckpoint() {
  MutexLock lock(&mutex_);
  checkpoints_.push_back(ledger_.Mark());
  return static_cast<int>(checkpoints_.size());
}

bool Checker::SerialAtCheckpoint(int id, Serial* serial) const {
  MutexLock lock(&mutex_);
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
  if (fork_mark_ != nullptr) __atomic_store_n(fork_mark_, 1, __ATOMIC_RELEASE);
}

}  // namespace rdmacheck
