#include "interpose/stacks/stack_depot.h"

#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "interpose/base/journal.h"
#include "interpose/stacks/frame_table.h"
#include "report/cat.h"

namespace rdmacheck {

StackDepot::Node* StackDepot::Search(Node* from, const Node* until, uint64_t hash, const char* verb, Kind kind, void* const* pcs,
                                     size_t depth, const PythonStack* python) const {
  for (; from != until; from = from->next) {
    if (from->hash == hash && from->depth == depth && from->verb == verb && from->kind == kind && from->python == python &&
        memcmp(from->pcs, pcs, depth * sizeof(void*)) == 0 && LiesAsBefore(*from)) {
      return from;
    }
  }
  return nullptr;
}

// Where a library was unloaded another may lie now, and the same addresses be another stack.
bool StackDepot::LiesAsBefore(const Node& node) const {
  const uint32_t now = static_cast<uint32_t>(FrameTable::Now());
  if (__builtin_expect(node.unloads.load(std::memory_order_relaxed) == now, true)) return true;
  CodePlace places[kMaxFrames];
  modules_->Resolve(node.pcs, node.depth, places);
  for (size_t i = 0; i < node.depth; ++i) {
    if (places[i].module != node.places[i].module || places[i].offset != node.places[i].offset) return false;
  }
  node.unloads.store(now, std::memory_order_relaxed);
  return true;
}

namespace {

void WriteToJournal(const StackDepot::Node& node, const ModuleTable& modules) {
  if (JournalBase() == nullptr) return;
  JournalVerb(node.verb);
  const size_t bytes = sizeof(journal::StackBody) + node.depth * sizeof(journal::Place);
  const std::unique_ptr<char[]> body(new (std::nothrow) char[bytes]);
  if (body == nullptr) return;
  const journal::StackBody head{reinterpret_cast<uintptr_t>(node.verb), node.depth, static_cast<uint8_t>(node.kind),
                                static_cast<uint8_t>(node.owner), 0};
  memcpy(body.get(), &head, sizeof(head));
  for (size_t i = 0; i < node.depth; ++i) {
    const Module module = modules.Get(node.places[i].module);
    const auto part = static_cast<uint32_t>(PartOf(module, node.places[i].offset));
    const journal::Place place{node.places[i].offset, node.places[i].module, part};
    memcpy(body.get() + sizeof(head) + i * sizeof(place), &place, sizeof(place));
  }
  std::string python;
  constexpr size_t kMost = 32768;  // a text's length has 16 bits
  for (size_t i = 0; node.python != nullptr && i < node.python->depth && python.size() < kMost; ++i) {
    const PythonFrame& frame = node.python->frames[i];
    for (const std::string& part : {std::string(frame.function), std::string(frame.file), Cat(frame.line)}) {
      python += part;
      python += '\0';
    }
  }
  JournalRecord(journal::RecordType::kStack, node.id, body.get(), bytes, python);
}

}  // namespace

StackDepot::Node* StackDepot::Put(const char* verb, Kind kind, void* const* pcs, size_t depth, const PythonStack* python) {
  uint64_t hash = 0;
  for (size_t i = 0; i < depth; ++i) hash = NextHash(hash, reinterpret_cast<uintptr_t>(pcs[i]));
  return Put(verb, kind, pcs, depth, hash, python);
}

StackDepot::Node* StackDepot::Put(const char* verb, Kind kind, void* const* pcs, size_t depth, uint64_t hash,
                                  const PythonStack* python) {
  hash ^= hash >> 32 ^ reinterpret_cast<uintptr_t>(verb) ^ reinterpret_cast<uintptr_t>(python) << 8 ^ static_cast<uintptr_t>(kind);
  hash *= 0xD6E8FEB86659FD93u;
  std::atomic<Node*>& bucket = buckets_[hash >> (64 - kBucketBits)];
  Node* head = bucket.load(std::memory_order_acquire);
  if (Node* known = Search(head, nullptr, hash, verb, kind, pcs, depth, python)) return known;

  const uint32_t id = next_id_.load(std::memory_order_relaxed) < kMaxStacks
                          ? next_id_.fetch_add(1, std::memory_order_relaxed)
                          : kMaxStacks;
  if (id >= kMaxStacks) return nullptr;
  Node* node = new (std::nothrow) Node;
  if (node == nullptr) return nullptr;
  node->hash = hash;
  node->id = id;
  node->depth = static_cast<uint16_t>(depth);
  node->kind = kind;
  node->verb = verb;
  node->unloads.store(static_cast<uint32_t>(FrameTable::Now()), std::memory_order_relaxed);
  node->pcs = new (std::nothrow) void*[depth + 1];
  node->places = new (std::nothrow) CodePlace[depth + 1];
  if (node->pcs == nullptr || node->places == nullptr) return nullptr;
  memcpy(node->pcs, pcs, depth * sizeof(void*));
  modules_->Resolve(pcs, depth, node->places);
  node->python = python;
  node->called_by = CallerOf(pcs, depth);
  if (depth > 0) node->owner = modules_->Get(node->places[0].module).owner;

  WriteToJournal(*node, *modules_);  // before anybody can name it

  std::atomic<std::atomic<Node*>*>& chunk = chunks_[id >> kChunkBits];
  std::atomic<Node*>* nodes = chunk.load(std::memory_order_acquire);
  if (nodes == nullptr) {
    auto* fresh = new (std::nothrow) std::atomic<Node*>[1u << kChunkBits]();
    if (fresh == nullptr) return nullptr;
    if (chunk.compare_exchange_strong(nodes, fresh, std::memory_order_acq_rel)) {
      nodes = fresh;
    } else {
      delete[] fresh;
    }
  }
  nodes[id & ((1u << kChunkBits) - 1)].store(node, std::memory_order_release);

  const Node* seen = head;
  for (;;) {
    node->next = head;
    if (bucket.compare_exchange_weak(head, node, std::memory_order_acq_rel)) return node;
    // Somebody pushed first; it may have been this very stack. Our id then stays unused.
    if (Node* known = Search(head, seen, hash, verb, kind, pcs, depth, python)) return known;
    seen = head;
  }
}

const StackDepot::Node* StackDepot::Get(uint32_t id) const {
  if (id == 0 || id >= kMaxStacks) return nullptr;
  const std::atomic<Node*>* nodes = chunks_[id >> kChunkBits].load(std::memory_order_acquire);
  return nodes == nullptr ? nullptr : nodes[id & ((1u << kChunkBits) - 1)].load(std::memory_order_acquire);
}

void StackDepot::ForEach(const std::function<void(const Node&)>& visit) const {
  const uint32_t end = next_id_.load(std::memory_order_acquire);
  for (uint32_t id = 1; id < end; ++id) {
    if (const Node* node = Get(id)) visit(*node);
  }
}

void StackDepot::WriteJournal() const {
  ForEach([this](const Node& node) {
    WriteToJournal(node, *modules_);
    if (node.for_program.load(std::memory_order_relaxed)) {
      JournalRecord(journal::RecordType::kForProgram, node.id, nullptr, 0, {});
    }
  });
}

bool StackDepot::SetForProgram(const Node& node) {
  if (node.for_program.exchange(true, std::memory_order_relaxed)) return false;
  JournalRecord(journal::RecordType::kForProgram, node.id, nullptr, 0, {});
  return true;
}

void StackDepot::ForgetCounts() {
  ForEach([](const Node& node) { const_cast<Node&>(node).created.Clear(); });
  for (std::atomic<uint64_t>& count : unplaced_) count.store(0, std::memory_order_relaxed);
}

}  // namespace rdmacheck
