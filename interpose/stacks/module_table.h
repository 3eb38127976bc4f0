// The files that code of this process came from, kept for its life: a stack stays readable after a dlclose.
//
// Threads: any. Nothing here takes the loader's lock (loaded_object.h).
#pragma once

#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "interpose/base/mutex.h"
#include "interpose/libraries/elf_lookup.h"
#include "report/python_frames.h"

namespace rdmacheck {

struct LoadedFile;  // module_image.h

using ModuleId = uint16_t;  // 0: no module

struct Module {
  std::string path;
  std::string build_id;  // lower-case hex, or empty
  uintptr_t base = 0;
  // What its names are read from (module_image.h).
  std::string_view image;
  // The library that made an object is the module of the direct caller: these make objects for themselves.
  enum class Owner : uint8_t { kProgram, kLibrdmacm, kDirectVerbs, kLibibverbs } owner = Owner::kProgram;
  CodeRange python_eval;     // the interpreter's loop, where the file is a Python
  bool is_python = false;    // nothing but an interpreter: python3.11, libpython3.11.so
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
  void WriteJournal() const;  // all that is there, to a journal that begins
  std::string_view ImageOf(const std::string& path, const std::string& build_id) const;

  // A list that was torn is replaced: frames of stacks taken before then have no file.
  void ForkChild() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (mutex_.Renew()) new (&modules_) std::vector<Module>;
  }
  Mutex* mutex() ABSL_LOCK_RETURNED(mutex_) { return &mutex_; }

 private:
  ModuleId IdOf(const Module& seen, const LoadedFile& file);
  mutable Mutex mutex_;
  std::vector<Module> modules_ ABSL_GUARDED_BY(mutex_);
};

// What the code at this offset is to a Python.
PythonPart PartOf(const Module& module, uint64_t offset);

// Which library a file is, by its name.
Module::Owner OwnerOf(const std::string& path);

// Is this code of rdma-core's libraries and providers? Takes no lock and no memory.
bool IsLibraryCode(void* address);

}  // namespace rdmacheck
