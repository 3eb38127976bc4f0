// ibv_context → the pointers its slots held before we patched them. Two devices may have two providers, so the originals
// belong to the context.
//
// Readers take no lock. An entry is never freed: a context whose address comes again takes its old entry over.
#pragma once

#include <atomic>
#include <cstddef>

struct ibv_context;

namespace rdmacheck {

inline constexpr size_t kMaxSlots = 48;

struct ContextSlots {
  ContextSlots* next = nullptr;
  const ibv_context* context = nullptr;
  std::atomic<void*> originals[kMaxSlots] = {};
  std::atomic<void*> placeholders[2] = {};  // ABI_placeholder1 and 2: flow verbs of programs built with libibverbs 1.1.8
};

ContextSlots* FindContextSlots(const ibv_context* context);         // null: never patched
ContextSlots* FindOrAddContextSlots(const ibv_context* context);    // null: out of memory

}  // namespace rdmacheck
