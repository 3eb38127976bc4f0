// The one checker of a process: options, ledger, stacks, reports. Made at the first verb (or the first question), never
// destroyed: verbs may be called from the last destructor.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "interpose/checker/call.h"
#include "interpose/ledger/ledger.h"
#include "interpose/stacks/module_table.h"
#include "interpose/stacks/stack_depot.h"
#include "interpose/stacks/unwind.h"
#include "interpose/options/options.h"
#include "interpose/checker/reporter.h"

namespace rdmacheck {

class Checker;
struct JudgeState;  // judge/state.h

// What the rooms above give the checker when it is made (hooks/the_checker.h).
struct Parts {
  void (*fill_report)(Checker& checker, Report* report);  // kinds, growth, what is alive, the environment
  void (*before_snapshot)(Checker& checker);                // what the kernel lists is compared
  void (*find_bypasses)(Checker& checker);                  // files that call verbs past us are counted as not watched
  JudgeState* (*make_judges)(const JudgeState* parents);  // null, or those of the process that forked this one
  void (*thread_ends)();    // called in each thread that called verbs, as it ends
  uint32_t exported_verbs;  // how many functions the library stands before
};

class Checker {
 public:
  // Makes it if there is none. Null: memory is out.
  static Checker* GetOrMake(const Parts& parts) {
    Checker* checker = the_checker.load(std::memory_order_acquire);
    if (__builtin_expect(checker == nullptr, false)) return Make(parts);
    checker->SeeFork();
    return checker;
  }
  static Checker* IfMade() { return the_checker.load(std::memory_order_acquire); }  // null: no verb was called

  // A call could not be kept, or a report not be made, for want of memory.
  void CountOutOfMemory();

  const Options& options() const { return options_; }
  Ledger& ledger() { return ledger_; }
  StackDepot& depot() { return depot_; }
  ModuleTable& modules() { return modules_; }
  Reporter& reporter() { return *reporter_.load(std::memory_order_acquire); }
  JudgeState& judges() { return *judges_.load(std::memory_order_acquire); }
  const Parts& parts() const { return parts_; }

  // ---- what the process is known to be like

  // RDMAV_ALLOW_DISASSOC_DESTROY as libibverbs has read it: at the first ibv_get_device_list, not at load.
  bool disassoc_destroy() const { return disassoc_.load(std::memory_order_relaxed) > 0; }
  void SetDisassocDestroy(bool on) {
    disassoc_.store(on ? 1 : 0, std::memory_order_relaxed);
    if (on) JournalSetFlag(journal::kDisassoc);
  }
  bool disassoc_known() const { return disassoc_.load(std::memory_order_relaxed) >= 0; }
  // Are events judged against destroys? Then threads that wait for events keep their stacks.
  bool judges_races() const {
    return options_.event_races == EventRaces::kAlways ||
           (options_.event_races == EventRaces::kAuto && disassoc_destroy());
  }

  uint32_t InternName(const std::string& name);  // device names; small numbers, forever
  std::string NameOf(uint32_t id) const;

  // Creators that were called but are not watched, or contexts seen too late: each once.
  void Unwatched(const Statement& statement);
  std::vector<std::string> UnwatchedSentences() const;  // with what memory did not suffice for
  // Reported once a process whatever the verbosity, with the "==PID==" prefix.
  void TellOnce(const Statement& statement);

  std::atomic<uint32_t> hooks_slots{0}, hooks_dlsym{0};

  // Checkpoints of rdmacheck_growth_begin(): the highest serial at each; ids count from 1.
  int AddCheckpoint();
  bool SerialAtCheckpoint(int id, Serial* serial) const;  // false: there is no such checkpoint

  // ---- fork (fork.h calls these)
  void ForkPrepare() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  void ForkParent() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  void ForkChild() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  static void ForkChildEarly();  // before anything else, and also where no verb was called yet
  bool forked() const { return forked_; }
  // If this process was made past the fork handlers (clone, _Fork) and nobody has put the state in order yet, it is now. So
  // is what else waits for the next verb: a forked child's own journal, and to say that there is no room for one.
  void SeeFork() {
    if (__builtin_expect(fork_mark_ != nullptr && __atomic_load_n(fork_mark_, __ATOMIC_RELAXED) != kInOrder, false)) PutInOrder();
  }
  // The next verb begins a journal, if there is to be one and there is none.
  void AwaitJournal();
  // At the end, where no journal is begun any more.
  void SeeForkAtExit();
  // Where this process was forked off its parent (its stack), for foreign-process.
  void SetForkStack(uint32_t stack) { fork_stack_.store(stack); }
  uint32_t fork_stack() const { return fork_stack_.load(); }

 private:
  explicit Checker(const Parts& parts);
  static Checker* Make(const Parts& parts);
  void PutInOrder();
  bool PutInOrderIf(uint32_t seen);
  void StartJournal();
  void SayJournalFull();
  void NoteDue(std::atomic<bool>* what);
  static void OnJournalFull();

  static inline std::atomic<Checker*> the_checker{nullptr};
  const Parts& parts_;
  Options options_;
  ModuleTable modules_;
  StackDepot depot_{&modules_};
  Ledger ledger_;
  std::atomic<Reporter*> reporter_{nullptr};
  std::atomic<JudgeState*> judges_{nullptr};
  std::atomic<int> disassoc_{-1};
  bool forked_ = false;
  std::atomic<uint32_t> fork_stack_{0};

  std::atomic<uint64_t> out_of_memory_{0};
  static constexpr uint32_t kForked = 0, kInOrder = 1, kUnderWay = 2, kDue = 3;
  uint32_t* fork_mark_ = nullptr;  // on a page that the kernel wipes in a forked child
  std::atomic<bool> journal_due_{false}, journal_full_due_{false};

  mutable Mutex mutex_;
  std::vector<std::string> names_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> unwatched_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> told_ ABSL_GUARDED_BY(mutex_);
  std::vector<Serial> checkpoints_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace rdmacheck
