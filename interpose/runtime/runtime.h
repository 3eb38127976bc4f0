// The one checker of a process: options, ledger, stacks, reports. Made at the first verb (or the first question), never
// destroyed: verbs may be called from the last destructor.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "interpose/judge/call.h"
#include "interpose/ledger/ledger.h"
#include "interpose/ledger/module_table.h"
#include "interpose/ledger/stack_depot.h"
#include "interpose/ledger/unwind.h"
#include "interpose/runtime/options.h"
#include "interpose/runtime/reporter.h"

namespace rdmacheck {

class Runtime {
 public:
  static Runtime& Get();           // memory is known to be there
  static Runtime* GetIfPossible();  // null: memory is out
  static Runtime* IfMade();         // null: no verb was called in this process

  // A call could not be kept, or a report not be made, for want of memory.
  void CountOutOfMemory();

  const Options& options() const { return options_; }
  Ledger& ledger() { return ledger_; }
  StackDepot& depot() { return depot_; }
  ModuleTable& modules() { return modules_; }
  Reporter& reporter() { return *reporter_.load(std::memory_order_acquire); }

  // ---- what the process is known to be like

  // RDMAV_ALLOW_DISASSOC_DESTROY as libibverbs has read it: at the first ibv_get_device_list, not at load.
  bool disassoc_destroy() const { return disassoc_.load(std::memory_order_relaxed) > 0; }
  void SetDisassocDestroy(bool on) { disassoc_.store(on ? 1 : 0, std::memory_order_relaxed); }
  bool disassoc_known() const { return disassoc_.load(std::memory_order_relaxed) >= 0; }
  // Are events judged against destroys? Then threads that wait for events keep their stacks.
  bool judges_races() const {
    return options_.event_races == EventRaces::kAlways ||
           (options_.event_races == EventRaces::kAuto && disassoc_destroy());
  }

  uint32_t InternName(const std::string& name);  // device names; small numbers, for ever
  std::string NameOf(uint32_t id) const;

  // Creators that were called but are not watched, or contexts seen too late: sentences, each once.
  void Unwatched(const std::string& sentence);
  std::vector<std::string> UnwatchedSentences() const;  // with what memory did not suffice for
  // Told once a process whatever the verbosity, with the "==PID==" prefix.
  void TellOnce(const std::string& sentence);

  std::atomic<uint32_t> hooks_slots{0}, hooks_dlsym{0};

  void ForkPrepare() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  void ForkParent() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  void ForkChild() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  static void ForkChildEarly();  // before anything else, and also where no verb was called yet
  bool forked() const { return forked_; }
  // Was this process made past the fork handlers (clone, _Fork), and has nobody put the state in order yet? One read.
  bool forked_unseen() const {
    return __builtin_expect(fork_mark_ != nullptr && __atomic_load_n(fork_mark_, __ATOMIC_RELAXED) != 1, false);
  }

 private:
  Runtime();

  Options options_;
  ModuleTable modules_;
  StackDepot depot_{&modules_};
  Ledger ledger_;
  std::atomic<Reporter*> reporter_{nullptr};
  std::atomic<int> disassoc_{-1};
  bool forked_ = false;
  void SeeFork();

  std::atomic<uint64_t> out_of_memory_{0};
  uint32_t* fork_mark_ = nullptr;  // on a page that the kernel wipes in a forked child

  mutable Mutex mutex_;
  std::vector<std::string> names_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> unwatched_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> told_ ABSL_GUARDED_BY(mutex_);
};

// In a process that was forked past the fork handlers: what InChild would have done (startup.cc).
void ForkedUnseen();

// What stands at `verbosity=1` when the first verb is called; set by hooks/, which knows.
struct StartInfo {
  std::string libibverbs, librdmacm;
};
StartInfo DescribeLibraries();

}  // namespace rdmacheck
