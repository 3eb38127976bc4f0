// Every distinct (verb, stack) once, named by a 32-bit id; with counts of what was created there for the process's life.
//
// Threads: any; Put takes no lock (a new stack is pushed on its bucket with a compare-and-swap). Nodes are never freed.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "interpose/base/stripes.h"
#include "interpose/ledger/kind.h"
#include "interpose/stacks/module_table.h"
#include "interpose/stacks/python_stack.h"
#include "interpose/stacks/unwind.h"

namespace rdmacheck {

class StackDepot {
 public:
  struct Node {
    Node* next = nullptr;
    uint64_t hash = 0;
    uint32_t id = 0;
    uint16_t depth = 0;
    Kind kind = Kind::kNone;  // what the verb creates there, if it creates
    Module::Owner owner = Module::Owner::kProgram;  // of the direct caller
    const char* verb = nullptr;
    void** pcs = nullptr;
    CodePlace* places = nullptr;  // as the addresses lay when the stack was first seen
    const PythonStack* python = nullptr;  // the frames of Python that lead to it, if they are known
    CalledBy called_by{};
    // As many libraries had been unloaded when they last were known to lie so.
    mutable std::atomic<uint32_t> unloads{0};
    // A library's call, but what it creates there is the program's: a QP that rdma_create_qp makes.
    mutable std::atomic<bool> for_program{false};
    // Apart from what every thread reads that takes this stack.
    alignas(64) StripedCount created;
  };

  explicit StackDepot(ModuleTable* modules) : modules_(modules) {}
  StackDepot(const StackDepot&) = delete;
  StackDepot& operator=(const StackDepot&) = delete;

  // The node of this stack; nullptr when the depot is full (kMaxStacks) or memory is out.
  // No lock of ours may be held: a new stack asks the loader which files its addresses lie in.
  // `hash`: of the frames (NextHash).
  Node* Put(const char* verb, Kind kind, void* const* pcs, size_t depth, uint64_t hash, const PythonStack* python);
  Node* Put(const char* verb, Kind kind, void* const* pcs, size_t depth, const PythonStack* python = nullptr);

  const Node* Get(uint32_t id) const;  // nullptr for 0 or an unknown id
  void ForEach(const std::function<void(const Node&)>& visit) const;
  // What was created where no stack could be kept.
  void CountUnplaced(Kind kind) { unplaced_[static_cast<size_t>(kind)].fetch_add(1, std::memory_order_relaxed); }
  uint64_t unplaced(Kind kind) const { return unplaced_[static_cast<size_t>(kind)].load(std::memory_order_relaxed); }
  // All that is there, to a journal that begins.
  void WriteJournal() const;
  // What is created there is the program's, though a library made it. True: that was not known.
  static bool SetForProgram(const Node& node);
  void ForgetCounts();  // in a forked child: what was made so far is the parent's
  uint32_t size() const { return next_id_.load(std::memory_order_relaxed) - 1; }

  static constexpr uint32_t kMaxStacks = 1u << 22;

 private:
  static constexpr uint32_t kBucketBits = 14, kBuckets = 1u << kBucketBits;
  static constexpr uint32_t kChunkBits = 10;

  Node* Search(Node* from, const Node* until, uint64_t hash, const char* verb, Kind kind, void* const* pcs, size_t depth,
               const PythonStack* python) const;
  bool LiesAsBefore(const Node& node) const;

  ModuleTable* const modules_;
  std::atomic<Node*> buckets_[kBuckets] = {};
  std::atomic<std::atomic<Node*>*> chunks_[kMaxStacks >> kChunkBits] = {};
  std::atomic<uint32_t> next_id_{1};
  std::atomic<uint64_t> unplaced_[kKindCount] = {};
};

}  // namespace rdmacheck
