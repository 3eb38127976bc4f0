#include "interpose/stacks/module_table.h"

#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <atomic>
#include <climits>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "interpose/base/journal.h"
#include "interpose/base/quiet_lock.h"
#include "interpose/stacks/module_image.h"
#include "interpose/libraries/loaded_object.h"
#include "interpose/libraries/loader_name.h"
#include "interpose/libraries/python.h"
#include "report/elf_file.h"
#include "report/modules.h"

namespace rdmacheck {
namespace {

std::string BuildIdOf(const dl_phdr_info* info) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    std::string id = BuildIdIn(std::string_view(notes, segment.p_memsz));
    if (!id.empty()) return id;
  }
  return std::string();
}

// Asked once: it does not change, and later it may be forbidden to ask.
std::string ProgramPath() {
  static std::atomic<const std::string*> known{nullptr};
  const std::string* path = known.load(std::memory_order_acquire);
  if (path == nullptr) {
    std::string name(PATH_MAX, '\0');
    ssize_t n = readlink("/proc/self/exe", &name[0], name.size());
    // Where the main thread has left by pthread_exit the process's own folder is empty.
    if (n < 0) n = readlink("/proc/thread-self/exe", &name[0], name.size());
    name.resize(n > 0 ? static_cast<size_t>(n) : 0);
    constexpr std::string_view kDeleted = " (deleted)";
    if (name.size() > kDeleted.size() && name.compare(name.size() - kDeleted.size(), kDeleted.size(), kDeleted) == 0) {
      name.resize(name.size() - kDeleted.size());
    }
    path = new std::string(name.empty() ? std::string("[program]") : name);
    known.store(path, std::memory_order_release);
  }
  return *path;
}

std::string PathOf(const dl_phdr_info* info) {
  // Not on the stack, which may be a small one.
  std::string name(PATH_MAX, '\0');
  CopyLoaderName(info->dlpi_name, &name[0], name.size());
  name.resize(strlen(name.c_str()));
  if (!name.empty()) {
    // Paths relative to a folder the program may leave are made whole while it is still there.
    if (name[0] == '/' || name.find('/') == std::string::npos) return name;
    std::string whole(PATH_MAX, '\0');
    return realpath(name.c_str(), &whole[0]) != nullptr ? std::string(whole.c_str()) : name;
  }
  return ProgramPath();
}

struct Seen {
  Module module;
  LoadedFile file;
  uintptr_t begin = 0, end = 0;  // of the whole file in memory
};

int Visit(dl_phdr_info* info, size_t, void* data) {
  auto* seen = static_cast<Seen*>(data);
  seen->begin = ~uintptr_t{0};
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + segment.p_vaddr);
    if (segment.p_type != PT_LOAD) continue;
    seen->begin = std::min(seen->begin, static_cast<uintptr_t>(info->dlpi_addr + segment.p_vaddr));
    seen->end = std::max(seen->end, static_cast<uintptr_t>(info->dlpi_addr + segment.p_vaddr + segment.p_memsz));
  }
  seen->module.path = PathOf(info);
  seen->module.build_id = BuildIdOf(info);
  char name[2];
  CopyLoaderName(info->dlpi_name, name, sizeof(name));
  const bool is_program = name[0] == '\0';
  seen->file = {seen->module.path, seen->module.build_id, info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr, dynamic, is_program};
  seen->module.base = info->dlpi_addr;
  seen->module.owner = OwnerOf(seen->module.path);
  seen->module.python_eval = SeePython(info->dlpi_addr, dynamic);
  seen->module.is_python = IsPythonFile(seen->module.path);
  return 1;
}

}  // namespace

namespace {

Module::Owner OwnerOfName(std::string_view path) {
  const std::string_view name = LastPart(path);
  if (name.substr(0, 12) == "librdmacm.so") return Module::Owner::kLibrdmacm;
  if (name.substr(0, 13) == "libibverbs.so") return Module::Owner::kLibibverbs;
  return IsProvider(name) ? Module::Owner::kDirectVerbs : Module::Owner::kProgram;
}

}  // namespace

PythonPart PartOf(const Module& module, uint64_t offset) {
  if (module.python_eval.Holds(module.base + offset)) return PythonPart::kEval;
  return module.is_python ? PythonPart::kInterpreter : PythonPart::kNone;
}

Module::Owner OwnerOf(const std::string& path) { return OwnerOfName(path); }

bool IsLibraryCode(void* address) {
  // libibverbs calls itself from a few places, each of them often. What was its code stays so: it is never unloaded, since
  // a hook has a hold on it.
  static std::atomic<void*> known[64];
  std::atomic<void*>& place = known[(reinterpret_cast<uintptr_t>(address) * 0x9E3779B97F4A7C15u) >> 58];
  if (place.load(std::memory_order_relaxed) == address) return true;
  auto visit = [](dl_phdr_info* info, size_t, void*) {
    // The end of the name says it; read with care, as all that the loader wrote.
    char name[256];
    CopyLoaderBaseName(info->dlpi_name, name, sizeof(name));
    return static_cast<int>(OwnerOfName(name) != Module::Owner::kProgram);
  };
  if (VisitLoadedObject(reinterpret_cast<uintptr_t>(address), visit, nullptr) == 0) return false;
  place.store(address, std::memory_order_relaxed);
  return true;
}

void ModuleTable::Resolve(void* const* addresses, size_t count, CodePlace* places) {
  // Neighbours of a stack mostly lie in the same file: each is asked for once.
  struct Known {
    uintptr_t begin, end, base;
    ModuleId id;
  };
  absl::InlinedVector<Known, 8> known;
  for (size_t k = 0; k < count; ++k) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(addresses[k]);
    places[k] = CodePlace();
    places[k].offset = address;
    auto in = std::find_if(known.begin(), known.end(),
                           [address](const Known& file) { return address >= file.begin && address < file.end; });
    if (in == known.end()) {
      Seen seen;
      if (VisitLoadedObject(address, &Visit, &seen) == 0) continue;
      known.push_back({seen.begin, seen.end, seen.module.base, IdOf(seen.module, seen.file)});
      in = known.end() - 1;
      if (address < in->begin || address >= in->end) continue;
    }
    places[k].module = in->id;
    places[k].offset = address - in->base;
  }
}

namespace {

void WriteToJournal(ModuleId id, const Module& module) {
  if (JournalBase() == nullptr) return;
  journal::ModuleBody body{};
  module.build_id.copy(body.build_id, sizeof(body.build_id));
  JournalRecord(journal::RecordType::kModule, id, &body, sizeof(body), module.path);
}

}  // namespace

void ModuleTable::WriteJournal() const {
  QuietLock lock(&mutex_);
  for (size_t i = 0; i < modules_.size(); ++i) WriteToJournal(static_cast<ModuleId>(i + 1), modules_[i]);
}

ModuleId ModuleTable::IdOf(const Module& seen, const LoadedFile& file) {
  QuietLock lock(&mutex_);
  for (size_t i = 0; i < modules_.size(); ++i) {
    const Module& known = modules_[i];
    if (known.base == seen.base && known.path == seen.path && known.build_id == seen.build_id) {
      return static_cast<ModuleId>(i + 1);
    }
  }
  if (modules_.size() >= 65534) return 0;
  modules_.push_back(seen);
  modules_.back().image = KeepImageOf(file);
  WriteToJournal(static_cast<ModuleId>(modules_.size()), seen);
  return static_cast<ModuleId>(modules_.size());
}

std::string_view ModuleTable::ImageOf(const std::string& path, const std::string& build_id) const {
  QuietLock lock(&mutex_);
  for (const Module& known : modules_) {
    if (known.path == path && known.build_id == build_id && !known.image.empty()) return known.image;
  }
  return {};
}

Module ModuleTable::Get(ModuleId id) const {
  QuietLock lock(&mutex_);
  return id == 0 || id > modules_.size() ? Module() : modules_[id - 1];
}

}  // namespace rdmacheck
