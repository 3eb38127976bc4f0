// The files that code of this process came from, kept for its life: a stack stays readable after a dlclose.
//
// Threads: any. Resolve takes the loader's lock, so it is never called with a lock of ours held.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "interpose/ledger/mutex.h"

namespace rdmacheck {

using ModuleId = uint16_t;  // 0: no module

struct Module {
  std::string path;
  std::string build_id;  // lower-case hex, or empty
  uintptr_t base = 0;
  // The library that made an object is the module of the direct caller: these make objects for themselves.
  enum class Owner : uint8_t { kProgram, kLibrdmacm, kDirectVerbs, kLibibverbs } owner = Owner::kProgram;
};

struct CodePlace {
  ModuleId module = 0;
  uint64_t offset = 0;  // from the load base
};

class ModuleTable {
 public:
  // Where each address lies now; one walk of the loader's list for all of them.
  void Resolve(void* const* addresses, size_t count, CodePlace* places);
  Module Get(ModuleId id) const;

  void ForkChild() { mutex_.Renew(); }
  Mutex* mutex() ABSL_LOCK_RETURNED(mutex_) { return &mutex_; }

 private:
  ModuleId IdOf(const Module& seen);
  mutable Mutex mutex_;
  std::vector<Module> modules_ ABSL_GUARDED_BY(mutex_);
};

// Which library a file is, by its name.
Module::Owner OwnerOf(const std::string& path);

}  // namespace rdmacheck
