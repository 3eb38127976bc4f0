#include "interpose/runtime/runtime.h"

#include <pthread.h>
#include <stdlib.h>

#include <algorithm>

#include "interpose/judge/objects.h"
#include "interpose/ledger/clock.h"

namespace rdmacheck {
namespace {

pthread_once_t once = PTHREAD_ONCE_INIT;
std::atomic<Runtime*> the_runtime{nullptr};

}  // namespace

Runtime& Runtime::Get() {
  Runtime* runtime = the_runtime.load(std::memory_order_acquire);
  if (runtime != nullptr) return *runtime;
  pthread_once(&once, [] { the_runtime.store(new Runtime, std::memory_order_release); });
  return *the_runtime.load(std::memory_order_acquire);
}

Runtime* Runtime::IfMade() { return the_runtime.load(std::memory_order_acquire); }

Runtime::Runtime() {
  Start();
  ParseResult parsed = ParseOptions(getenv("RDMACHECK_OPTIONS"));
  options_ = std::move(parsed.options);
  auto fill = [this](Report* report) { FillReport(*this, report); };
  reporter_.store(new Reporter(options_, &depot_, &modules_, fill));
  for (const std::string& complaint : parsed.complaints) reporter().Tell(complaint);
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
  MutexLock lock(&mutex_);
  return unwatched_;
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
  ledger_.ForkPrepare();
  modules_.mutex()->Lock();
}

void Runtime::ForkParent() {
  modules_.mutex()->Unlock();
  ledger_.ForkParent();
}

void Runtime::ForkChild() {
  modules_.ForkChild();
  ledger_.ForkChild();
  ThreadsForkChild();
  mutex_.Renew();
  forked_ = true;
  // What the parent found is the parent's to tell. Its reporter may be in the middle of a text: it is left as it lies.
  auto fill = [this](Report* report) { FillReport(*this, report); };
  reporter_.store(new Reporter(options_, &depot_, &modules_, fill));
  depot_.ForgetCounts();
}

}  // namespace rdmacheck
