// What the judges remember beyond the ledger. The Checker owns the one of the process; a forked child gets a new one
// (Checker::ForkChild), for another thread of the parent may have been changing the old one at that moment.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "interpose/base/mutex.h"
#include "interpose/ledger/entry.h"
#include "interpose/ledger/threads.h"
#include "report/finding.h"

namespace rdmacheck {

// The first memory that was registered, for ibv_fork_init: an MR, or a queue, whose buffers most providers keep from the
// child in the same way.
struct FirstRegistration {
  std::atomic<const char*> verb{nullptr};
  std::atomic<uint32_t> stack{0};
  std::atomic<uint32_t> serial{0};
  std::atomic<uint32_t> when{0};
  std::atomic<int32_t> thread{0};
};

// The last create of a kind that failed, for null-handle.
struct FailedCreate {
  std::atomic<const char*> verb{nullptr};
  std::atomic<int> error{0};
  std::atomic<uint32_t> stack{0};
};

// A QP or SRQ that lived when its id was destroyed, for cm-qp-left.
struct QpLeft {
  Slot slot = 0;
  Serial serial = 0;
  Finding finding;
};

// A destroy under way that is watched, for blocked-destroy.
struct Watch {
  ThreadRecord* thread = nullptr;
  int32_t tid = 0;
  uint32_t sequence = 0;
  Slot slot = 0;
  uint64_t deadline = 0;  // CLOCK_MONOTONIC
  // Of the thread's stack: where the hook's frame ends, and where the stack does (0: not known).
  uintptr_t top = 0, low = 0;
  bool reported = false;
};

struct JudgeState {
  JudgeState() = default;
  JudgeState(const JudgeState&) = delete;
  JudgeState& operator=(const JudgeState&) = delete;

  // Each mutex is a leaf, but for `left_mutex`: a shard's is taken inside it.
  Mutex create_failed_mutex;
  // When a verb's failure was last reported; verbs are known by the address of their name.
  absl::flat_hash_map<const char*, uint32_t> create_failed_at ABSL_GUARDED_BY(create_failed_mutex);

  FirstRegistration first_mr, first_queue;
  FailedCreate failed_creates[kKindCount];

  Mutex overlaps_mutex;
  // Stacks of destroys and gets that were reported to overlap.
  std::vector<std::pair<uint32_t, uint32_t>> overlaps_reported ABSL_GUARDED_BY(overlaps_mutex);

  Mutex left_mutex;
  std::vector<QpLeft> qps_left ABSL_GUARDED_BY(left_mutex);

  // verify=kernel: what was reported so far by device and kind, and when each device was compared last.
  std::atomic<uint32_t> comparing{0};  // by this thread
  Mutex witness_mutex;
  std::map<std::pair<std::string, uint8_t>, uint64_t> unwatched ABSL_GUARDED_BY(witness_mutex);
  std::map<std::string, uint32_t> compared ABSL_GUARDED_BY(witness_mutex);
  std::map<std::string, uint64_t> closed ABSL_GUARDED_BY(witness_mutex);  // contexts, by device
  uint32_t verified_kinds ABSL_GUARDED_BY(witness_mutex) = 0;  // bit 1 << Listed

  Mutex watch_mutex;
  std::atomic<bool> watches_used{false};   // false: no destroy was ever watched
  std::atomic<uint32_t> watch_changes{0};  // counts changes of the list; the watcher's thread waits for the next
  std::vector<Watch> watches ABSL_GUARDED_BY(watch_mutex);
  bool watcher_runs ABSL_GUARDED_BY(watch_mutex) = false;
};

// For a process that begins, or for a forked child of one that had `parents`: what was registered and what failed there
// still explains what happens here. Only what no lock guards is taken over.
JudgeState* MakeJudgeState(const JudgeState* parents);

}  // namespace rdmacheck
