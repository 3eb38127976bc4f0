#include "interpose/runtime/runtime.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "interpose/judge/objects.h"
#include "interpose/ledger/clock.h"
#include "interpose/ledger/own_stack.h"
#include "interpose/ledger/stack_bounds.h"
#include "interpose/runtime/run_mark.h"

namespace rdmacheck {
namespace {

Mutex making;
std::atomic<Runtime*> the_runtime{nullptr};

// What of the memory that a Runtime takes is not the arena's.
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

Runtime* Runtime::GetIfPossible() {
  Runtime* runtime = the_runtime.load(std::memory_order_acquire);
  if (__builtin_expect(runtime != nullptr, true)) {
    if (runtime->forked_unseen()) runtime->SeeFork();
    return runtime;
  }
  MutexLock lock(&making);
  runtime = the_runtime.load(std::memory_order_acquire);
  if (runtime != nullptr) return runtime;
  static bool hopeless = false;  // it was tried once: a program out of address space is not asked at each verb
  if (hopeless) return nullptr;
  CallWithAmpleStack([&runtime] {
    try {
      runtime = new Runtime;
    } catch (const std::bad_alloc&) {
    }
  });
  if (runtime == nullptr || !runtime->ledger_.usable()) {
    hopeless = true;
    WriteOutOfMemory();
    return nullptr;
  }
  the_runtime.store(runtime, std::memory_order_release);
  return runtime;
}

void Runtime::SeeFork() {
  // The first thread of this process that comes here does it, others wait for it.
  uint32_t wiped = 0;
  if (__atomic_compare_exchange_n(fork_mark_, &wiped, 2, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    ForkedUnseen();
    return;
  }
  while (__atomic_load_n(fork_mark_, __ATOMIC_ACQUIRE) != 1) sched_yield();
}

void Runtime::ForkChildEarly() { making.Renew(); }

Runtime& Runtime::Get() { return *GetIfPossible(); }

Runtime* Runtime::IfMade() { return the_runtime.load(std::memory_order_acquire); }

void Runtime::CountOutOfMemory() {
  if (out_of_memory_.fetch_add(1) == 0) WriteOutOfMemory();
}

Runtime::Runtime() : fork_mark_(MapForkMark()) {
  Start();
  NoteMainStackLimit();
  ParseResult parsed = ParseOptions(getenv("RDMACHECK_OPTIONS"));
  options_ = std::move(parsed.options);
  auto fill = [this](Report* report) { FillReport(*this, report); };
  reporter_.store(new Reporter(options_, &depot_, &modules_, fill));
  for (const std::string& complaint : parsed.complaints) reporter().Tell(complaint);
  RunMarkVerbs();
  if (UnderRun() && options_.snapshot_signal == 0) StartRunSnapshots(reporter());
  if (options_.verbosity >= 1) {
    const StartInfo info = DescribeLibraries();
    reporter().Tell("version " RDMACHECK_VERSION ", libibverbs " +
                    (info.libibverbs.empty() ? std::string("not loaded") : info.libibverbs) +
                    (info.librdmacm.empty() ? std::string() : ", librdmacm " + info.librdmacm) + ", " +
                    std::to_string(ExportedVerbs()) + " exported verbs hooked");
    reporter().Tell("not watched: post_send, post_recv, poll_cq, req_notify_cq and other data-path calls");
  }
}

uint32_t Runtime::InternName(const std::string& name) {
  MutexLock lock(&mutex_);
  auto it = std::find(names_.begin(), names_.end(), name);
  if (it == names_.end()) it = names_.insert(names_.end(), name);
  return static_cast<uint32_t>(it - names_.begin()) + 1;
}

std::string Runtime::NameOf(uint32_t id) const {
  MutexLock lock(&mutex_);
  return id == 0 || id > names_.size() ? std::string() : names_[id - 1];
}

void Runtime::Unwatched(const std::string& sentence) {
  MutexLock lock(&mutex_);
  if (std::find(unwatched_.begin(), unwatched_.end(), sentence) == unwatched_.end()) unwatched_.push_back(sentence);
}

std::vector<std::string> Runtime::UnwatchedSentences() const {
  std::vector<std::string> sentences;
  {
    MutexLock lock(&mutex_);
    sentences = unwatched_;
  }
  const uint64_t lost = out_of_memory_.load();
  if (lost > 0) sentences.push_back(std::to_string(lost) + (lost == 1 ? " call" : " calls") + " for want of memory");
  return sentences;
}

void Runtime::TellOnce(const std::string& sentence) {
  {
    MutexLock lock(&mutex_);
    if (std::find(told_.begin(), told_.end(), sentence) != told_.end()) return;
    told_.push_back(sentence);
  }
  reporter().Tell(sentence);
}

void Runtime::ForkPrepare() {
  UnwinderForkPrepare();
  ledger_.ForkPrepare();
  modules_.mutex()->Freeze();
}

void Runtime::ForkParent() {
  modules_.mutex()->Thaw();
  ledger_.ForkParent();
  UnwinderForkParent();
}

void Runtime::ForkChild() {
  modules_.ForkChild();
  ledger_.ForkChild();
  ThreadsForkChild();
  if (mutex_.Renew()) {
    new (&names_) std::vector<std::string>;
    new (&unwatched_) std::vector<std::string>;
    new (&told_) std::vector<std::string>;
  }
  forked_ = true;
  // What the parent found is the parent's to tell. Its reporter may be in the middle of a text: it is left as it lies.
  auto fill = [this](Report* report) { FillReport(*this, report); };
  reporter_.store(new Reporter(options_, &depot_, &modules_, fill));
  depot_.ForgetCounts();
  if (fork_mark_ != nullptr) __atomic_store_n(fork_mark_, 1, __ATOMIC_RELEASE);
}

}  // namespace rdmacheck
