#include "interpose/stacks/stack_depot.h"

#include <cstring>
#include <new>

namespace rdmacheck {
namespace {

// Return addresses differ in their low bits; a multiply and a rotate a frame spread them well enough for a chain.
uint64_t HashOf(const char* verb, Kind kind, void* const* pcs, size_t depth) {
  uint64_t h = (reinterpret_cast<uintptr_t>(verb) ^ static_cast<uintptr_t>(kind)) * 0x9E3779B97F4A7C15u;
  for (size_t i = 0; i < depth; ++i) {
    h = (h ^ reinterpret_cast<uintptr_t>(pcs[i])) * 0xD6E8FEB86659FD93u;
    h ^= h >> 29;
  }
  return h;
}

StackDepot::Node* Search(StackDepot::Node* from, const StackDepot::Node* until, uint64_t hash, const char* verb,
                         Kind kind, void* const* pcs, size_t depth) {
  for (; from != until; from = from->next) {
    if (from->hash == hash && from->depth == depth && from->verb == verb && from->kind == kind &&
        memcmp(from->pcs, pcs, depth * sizeof(void*)) == 0) {
      return from;
    }
  }
  return nullptr;
}

}  // namespace

StackDepot::Node* StackDepot::Put(const char* verb, Kind kind, void* const* pcs, size_t depth) {
  const uint64_t hash = HashOf(verb, kind, pcs, depth);
  std::atomic<Node*>& bucket = buckets_[(hash ^ (hash >> 32)) & (kBuckets - 1)];
  Node* head = bucket.load(std::memory_order_acquire);
  if (Node* known = Search(head, nullptr, hash, verb, kind, pcs, depth)) return known;

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
  node->pcs = new (std::nothrow) void*[depth + 1];
  node->places = new (std::nothrow) CodePlace[depth + 1];
  if (node->pcs == nullptr || node->places == nullptr) return nullptr;
  memcpy(node->pcs, pcs, depth * sizeof(void*));
  modules_->Resolve(pcs, depth, node->places);
  if (depth > 0) node->owner = modules_->Get(node->places[0].module).owner;

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
    if (Node* known = Search(head, seen, hash, verb, kind, pcs, depth)) return known;
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

void StackDepot::ForgetCounts() {
  ForEach([](const Node& node) { const_cast<Node&>(node).created.Clear(); });
  for (std::atomic<uint64_t>& count : unplaced_) count.store(0, std::memory_order_relaxed);
}

}  // namespace rdmacheck
