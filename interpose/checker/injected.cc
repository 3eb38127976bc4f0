#include "interpose/checker/injected.h"

#include <algorithm>
#include <atomic>

#include "interpose/base/clock.h"
#include "interpose/base/quiet_lock.h"
#include "interpose/checker/reporter.h"
#include "interpose/ledger/threads.h"

namespace rdmacheck {
namespace {

std::atomic<bool> any{false};
Mutex mutex;
// Never destroyed: an exit handler may still call verbs.
std::vector<InjectedFault>& faults ABSL_GUARDED_BY(mutex) = *new std::vector<InjectedFault>;

}  // namespace

void NoteInjected(Reporter& reporter, InjectedFault fault, const char* sentence) {
  ThreadRecord* const self = ThisThread();
  const bool fails = fault.result != 0;
  if (self != nullptr) fault.thread.tid = self->tid.load(std::memory_order_relaxed);
  fault.time = EpochNow();
  {
    QuietLock lock(&mutex);
    if (faults.size() == kMaxInjected) faults.pop_back();
    faults.push_back(std::move(fault));
    any.store(true, std::memory_order_release);
    if (self != nullptr && fails) self->injected = static_cast<uint32_t>(faults.size());
  }
  if (sentence != nullptr) reporter.Tell(std::string(sentence));
}

std::vector<InjectedFault> InjectedFaults() {
  if (!any.load(std::memory_order_acquire)) return {};
  QuietLock lock(&mutex);
  return faults;
}

void NameInjected(Finding* finding) {
  if (!any.load(std::memory_order_acquire)) return;
  QuietLock lock(&mutex);
  if (faults.empty()) return;
  const ThreadRecord* const self = ThisThread();
  const uint32_t own = self == nullptr ? 0 : self->injected;
  if (own != 0 && own <= faults.size() && faults[own - 1].verb == finding->verb) {
    finding->injected = faults[own - 1];
    finding->injected_here = true;
    finding->hints.clear();  // what else it could come from
    return;
  }
  const std::string& failed = finding->object.last_failed_call.verb;
  const auto of_object = std::find_if(faults.rbegin(), faults.rend(), [&failed](const InjectedFault& fault) {
    return !failed.empty() && fault.verb == failed;
  });
  finding->injected = of_object != faults.rend() ? *of_object : faults.back();
}

void InjectedForkChild() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if (mutex.Renew()) new (&faults) std::vector<InjectedFault>;
  faults.clear();
  any.store(false);
}

}  // namespace rdmacheck
