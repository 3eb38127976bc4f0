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
  static Runtime& Get();
  static Runtime* IfMade();  // null: no verb was called in this process

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
  std::vector<std::string> UnwatchedSentences() const;
  // Told once a process whatever the verbosity, with the "==PID==" prefix.
  void TellOnce(const std::string& sentence);

  std::atomic<uint32_t> hooks_slots{0}, hooks_dlsym{0};

  void ForkPrepare() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  void ForkParent() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  void ForkChild();
  bool forked() const { return forked_; }

 private:
  Runtime();

  Options options_;
  ModuleTable modules_;
  StackDepot depot_{&modules_};
  Ledger ledger_;
  std::atomic<Reporter*> reporter_{nullptr};
  std::atomic<int> disassoc_{-1};
  bool forked_ = false;

  mutable Mutex mutex_;
  std::vector<std::string> names_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> unwatched_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> told_ ABSL_GUARDED_BY(mutex_);
};

// What stands at `verbosity=1` when the first verb is called; set by hooks/, which knows.
struct StartInfo {
  std::string libibverbs, librdmacm;
};
StartInfo DescribeLibraries();

}  // namespace rdmacheck
