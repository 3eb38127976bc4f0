#include "report/symbolize.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <new>
#include <string_view>
#include <utility>

#include "report/cat.h"
#include "report/elf_file.h"
#include "report/mapped_file.h"
#include "report/modules.h"
#include "report/quiet_scope.h"
#include "report/rust_names.h"
#include "report/xz.h"

#if RDMACHECK_HAVE_LIBDW
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <libelf.h>
#endif

#if RDMACHECK_HAVE_LIBDW
// Two functions that libdw calls of parts of elfutils that we leave out. The one belongs to its unwinder, which nobody asks
// for. The other names the file that dwz shares between packages, which libdw would open by itself, with a descriptor that
// programs started meanwhile inherit: none, for we look for that file ourselves.
extern "C" {
__attribute__((visibility("hidden"))) void ebl_closebackend(void*);
void ebl_closebackend(void*) {}
__attribute__((visibility("hidden"))) ssize_t __dwelf_dwarf_gnu_debugaltlink_internal(Dwarf*, const char**, const void**);
ssize_t __dwelf_dwarf_gnu_debugaltlink_internal(Dwarf*, const char**, const void**) { return 0; }
}
#endif

namespace rdmacheck {
namespace {

std::string_view FolderOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view(".") : path.substr(0, slash);
}

// What a file says of the one that holds its debug information.
struct DebugLink {
  std::string name;
  uint32_t crc = 0;
};

// A build-id that both have decides; where a file has none, the checksum over the other.
bool IsDebugFileOf(const ElfFile& file, std::string_view build_id, const DebugLink& link) {
  constexpr size_t kLargest = size_t{1} << 30;
  if (!file.ok()) return false;
  const std::string own = file.BuildId();
  if (!own.empty() && !build_id.empty()) return own == build_id;
  return !link.name.empty() && file.bytes().size() <= kLargest &&
         crc32_z(0, reinterpret_cast<const Bytef*>(file.bytes().data()), file.bytes().size()) == link.crc;
}

// The file with the debug information that was split off, of exactly this build; empty if it is not on this machine.
std::string FindDebugFile(const std::vector<std::string>& roots, std::string_view module, std::string_view build_id,
                          const DebugLink& link) {
  std::vector<std::string> candidates;
  if (build_id.size() > 2) {
    for (const std::string& root : roots) {
      candidates.push_back(Cat(root, "/.build-id/", build_id.substr(0, 2), "/", build_id.substr(2), ".debug"));
    }
  }
  if (!link.name.empty()) {
    const std::string_view folder = FolderOf(module);
    candidates.push_back(Cat(folder, "/", link.name));
    candidates.push_back(Cat(folder, "/.debug/", link.name));
    for (const std::string& root : roots) candidates.push_back(Cat(root, folder, "/", link.name));
  }
  for (std::string& candidate : candidates) {
    if (candidate == module) continue;
    if (IsDebugFileOf(ElfFile(candidate), build_id, link)) return std::move(candidate);
  }
  return {};
}

// The file that dwz made of what several packages' files have in common; empty if it is not on this machine.
std::string FindSharedDebugFile(const std::vector<std::string>& roots, const std::string& build_id) {
  if (build_id.size() <= 2) return {};
  for (const std::string& root : roots) {
    std::string candidate = Cat(root, "/.build-id/", build_id.substr(0, 2), "/", build_id.substr(2), ".debug");
    const ElfFile file(candidate);
    if (file.ok() && file.BuildId() == build_id) return candidate;
  }
  return {};
}

// The C library: its lines help nobody, and its debug information takes libdw 50 ms to open. Names alone will do.
bool IsCLibrary(std::string_view path) {
  const std::string_view name = LastPart(path);
  for (const std::string_view prefix : {"libc.so", "libc-2.", "libpthread", "ld-linux"}) {
    if (name.substr(0, prefix.size()) == prefix) return true;
  }
  return false;
}

// Asks the servers of DEBUGINFOD_URLS; returns the file in debuginfod's own cache, or nothing.
std::string FetchDebugFile(const std::string& build_id) {
  void* library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return {};
  // As <elfutils/debuginfod.h> declares them, which is not always there to build with.
  const auto begin = reinterpret_cast<void* (*)()>(dlsym(library, "debuginfod_begin"));
  const auto end = reinterpret_cast<void (*)(void*)>(dlsym(library, "debuginfod_end"));
  const auto find =
      reinterpret_cast<int (*)(void*, const unsigned char*, int, char**)>(dlsym(library, "debuginfod_find_debuginfo"));
  std::string found;
  void* client = begin != nullptr && end != nullptr && find != nullptr ? begin() : nullptr;
  if (client != nullptr) {
    char* path = nullptr;
    // A length of 0 says that the id is in hex.
    const int fd = find(client, reinterpret_cast<const unsigned char*>(build_id.c_str()), 0, &path);
    if (fd >= 0) close(fd);
    if (path != nullptr) found = path;
    free(path);
    end(client);
  }
  // Not closed: libcurl, which it brings, does not like to be unloaded.
  return found;
}

// The name of a symbol, without its version ("write@@GLIBC_2.2.5").
std::string NameOfSymbol(std::string name) {
  name.resize(std::min(name.find('@'), name.size()));
  return Demangled(name);
}

}  // namespace

std::string Demangled(const std::string& name) {
  std::string rust;
  if (DemangleRust(name, &rust)) return rust;
  if (name.compare(0, 2, "_Z") != 0) return name;
  int status = 0;
  char* plain = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  if (plain == nullptr) return name;
  std::string result = status == 0 ? plain : name;
  free(plain);
  return result;
}

// ---- One file of code ----

class Symbolizer::Module {
 public:
  Module(const std::string& path, const std::string& build_id, const SymbolizerOptions& options)
      : options_(options), path_(path) {
    // What was mapped when the code was first met is what ran, whatever lies at that path today.
    image_ = options.image_of ? options.image_of(path, build_id) : std::string_view();
    if (!IsStillWhole(image_)) image_ = {};
    usable_ = (!image_.empty() || Map(path)) && IsBuild(build_id);
    if (!usable_ && !build_id.empty()) {
      // Another build lies there now, or none, as on another machine: debug information of the right build will do.
      path_ = FindDebugFile(options.debug_roots, path, build_id, {});
      if (path_.empty() && options.debuginfod) path_ = FetchDebugFile(build_id);
      usable_ = !path_.empty() && Map(path_) && IsBuild(build_id);
    }
#if RDMACHECK_HAVE_LIBDW
    if (usable_ && options.use_libdw && !IsCLibrary(path)) OpenDwarf();
#endif
  }

  ~Module() {
#if RDMACHECK_HAVE_LIBDW
    if (dwarf_ != nullptr) dwarf_end(dwarf_);
    if (elf_ != nullptr) elf_end(elf_);
    if (shared_dwarf_ != nullptr) dwarf_end(shared_dwarf_);
    if (shared_elf_ != nullptr) elf_end(shared_elf_);
#endif
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // The frames that one return address stands for, innermost first; empty if nothing is known.
  const std::vector<Frame>& FramesAt(uint64_t offset) {
    const auto [found, is_new] = frames_.try_emplace(offset);
    if (is_new && usable_ && offset > 0) found->second = Lookup(offset - 1);
    return found->second;
  }

 private:
  bool Map(const std::string& path) {
    file_ = MappedFile(path);
    image_ = file_.bytes();
    return !image_.empty();
  }

  bool IsBuild(const std::string& wanted_build_id) {
    const ElfFile file(ElfFile::InMemory{image_});
    if (!file.ok()) return false;
    build_id_ = file.BuildId();
    link_.name = file.DebugLink(&link_.crc);
    // A frame without a build-id can only be taken at its word.
    return wanted_build_id.empty() || wanted_build_id == build_id_;
  }

  // The file with what was split off, if it is there.
  std::string_view DebugImage() {
    if (!looked_for_debug_) {
      looked_for_debug_ = true;
      const std::string path = FindDebugFile(options_.debug_roots, path_, build_id_, link_);
      if (!path.empty()) debug_file_ = MappedFile(path);
    }
    return debug_file_.bytes();
  }

  std::vector<Frame> Lookup(uint64_t address) {
    std::vector<Frame> frames;
#if RDMACHECK_HAVE_LIBDW
    if (dwarf_ != nullptr && !memory_was_out_) {
      try {
        frames = LookupInDwarf(address);
      } catch (const std::bad_alloc&) {
        memory_was_out_ = true;
      }
    }
#endif
    if (!frames.empty()) return frames;
    try {
      Frame frame;
      frame.function = NameOfSymbol(SymbolAt(address));
      if (!frame.function.empty()) frames.push_back(std::move(frame));
    } catch (const std::bad_alloc&) {
      // One name less, and the report goes on.
    }
    return frames;
  }

  // A stripped file has the names of what it exports; those of other functions stand in its debug file, or packed in itself.
  std::string SymbolAt(uint64_t address) {
    if (symbols_ == nullptr) symbols_ = std::make_unique<ElfFile>(ElfFile::InMemory{image_});
    uint64_t nearest = 0;
    std::string name = symbols_->FunctionAt(address, &nearest);
    if (!name.empty() && symbols_->has_symtab()) return name;
    OpenMoreSymbols();
    for (const std::unique_ptr<ElfFile>& more : more_symbols_) {
      uint64_t begin = 0;
      std::string other = more->FunctionAt(address, &begin);
      if (other.empty() || (!name.empty() && begin <= nearest)) continue;
      nearest = begin;
      name = std::move(other);
    }
    return name;
  }

  void OpenMoreSymbols() {
    if (std::exchange(looked_for_symbols_, true)) return;
    if (!DebugImage().empty()) more_symbols_.push_back(std::make_unique<ElfFile>(ElfFile::InMemory{DebugImage()}));
    unpacked_ = Unxz(symbols_->PackedDebugData());
    if (!unpacked_.empty()) more_symbols_.push_back(std::make_unique<ElfFile>(ElfFile::InMemory{unpacked_}));
  }

#if RDMACHECK_HAVE_LIBDW
  // Addresses are the file's own, as our offsets are: nothing is relocated.
  void OpenDwarf() {
    elf_version(EV_CURRENT);
    if (!OpenDwarfOf(image_) && !DebugImage().empty()) OpenDwarfOf(DebugImage());
  }

  bool OpenDwarfOf(std::string_view image) {
    dwarf_ = Begin(image, &elf_);
    if (dwarf_ == nullptr) return false;
    const std::string path = FindSharedDebugFile(options_.debug_roots, ElfFile(ElfFile::InMemory{image}).DebugAltLink());
    if (path.empty()) return true;
    shared_file_ = MappedFile(path);
    shared_dwarf_ = Begin(shared_file_.bytes(), &shared_elf_);
    dwarf_setalt(dwarf_, shared_dwarf_);
    return true;
  }

  // libdw's own handler ends the process, and none may return. GNU's attribute is part of the type, as libdw has it.
  __attribute__((noreturn)) static void ThrowOutOfMemory() { throw std::bad_alloc(); }

  static Dwarf* Begin(std::string_view image, Elf** elf) {
    *elf = elf_memory(const_cast<char*>(image.data()), image.size());
    Dwarf* dwarf = *elf == nullptr ? nullptr : dwarf_begin_elf(*elf, DWARF_C_READ, nullptr);
    if (dwarf == nullptr) {
      if (*elf != nullptr) elf_end(*elf);
      *elf = nullptr;
      return nullptr;
    }
    dwarf_new_oom_handler(dwarf, &ThrowOutOfMemory);
    return dwarf;
  }

  std::string NameOfDie(Dwarf_Die* die) {
    Dwarf_Attribute attribute;
    for (const unsigned name : {unsigned{DW_AT_linkage_name}, unsigned{DW_AT_MIPS_linkage_name}}) {
      if (dwarf_attr_integrate(die, name, &attribute) == nullptr) continue;
      last_has_linkage_name_ = true;
      if (const char* linkage_name = dwarf_formstring(&attribute)) return Demangled(linkage_name);
    }
    last_has_linkage_name_ = false;
    const char* name = dwarf_diename(die);
    return name != nullptr ? name : "";
  }

  static uint64_t UnsignedOf(Dwarf_Die* die, unsigned name) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dwarf_attr(die, name, &attribute) == nullptr) return 0;
    return dwarf_formudata(&attribute, &value) == 0 ? value : 0;
  }

  // Where an inlined function was called.
  static void CallSiteOf(Dwarf_Die* unit, Dwarf_Die* inlined, Frame* caller) {
    caller->line = static_cast<int>(UnsignedOf(inlined, DW_AT_call_line));
    Dwarf_Files* files = nullptr;
    size_t count = 0;
    const uint64_t index = UnsignedOf(inlined, DW_AT_call_file);
    if (dwarf_getsrcfiles(unit, &files, &count) != 0 || index >= count) return;
    if (const char* file = dwarf_filesrc(files, index, nullptr, nullptr)) caller->file = file;
  }

  std::vector<Frame> LookupInDwarf(uint64_t address) {
    std::vector<Frame> frames(1);
    last_has_linkage_name_ = false;
    Dwarf_Die unit;
    if (UnitAt(address, &unit)) {
      if (Dwarf_Line* line = dwarf_getsrc_die(&unit, address)) {
        const char* file = dwarf_linesrc(line, nullptr, nullptr);
        if (file != nullptr) frames[0].file = file;
        dwarf_lineno(line, &frames[0].line);
      }
      ExpandInlined(&unit, address, &frames);
    }
    // A function that only its file sees has no linkage name in DWARF; its symbol then says the scopes.
    if (!last_has_linkage_name_) {
      const std::string symbol = SymbolAt(address);
      std::string* function = &frames.back().function;
      if (!symbol.empty() && (function->empty() || symbol.compare(0, 2, "_Z") == 0)) *function = NameOfSymbol(symbol);
    }
    if (frames.size() == 1 && frames[0].function.empty() && frames[0].file.empty()) frames.clear();
    return frames;
  }

  // The compilation unit of an address. libdw itself finds it by .debug_aranges only, which clang does not write.
  bool UnitAt(uint64_t address, Dwarf_Die* unit) {
    if (dwarf_addrdie(dwarf_, address, unit) != nullptr) return true;
    if (!units_loaded_) LoadUnits();
    const auto after = std::upper_bound(units_.begin(), units_.end(), address,
                                        [](uint64_t wanted, const UnitRange& range) { return wanted < range.begin; });
    if (after == units_.begin() || address >= std::prev(after)->end) return false;
    *unit = std::prev(after)->unit;
    return true;
  }

  void LoadUnits() {
    units_loaded_ = true;
    Dwarf_CU* at_unit = nullptr;
    Dwarf_Die unit;
    while (dwarf_get_units(dwarf_, at_unit, &at_unit, nullptr, nullptr, &unit, nullptr) == 0) {
      Dwarf_Addr base = 0, begin = 0, end = 0;
      for (ptrdiff_t at = 0; (at = dwarf_ranges(&unit, at, &base, &begin, &end)) > 0;) {
        // Code that the linker threw away stays behind as a range at 0.
        if (begin != 0) units_.push_back({begin, end, unit});
      }
    }
    std::sort(units_.begin(), units_.end(), [](const UnitRange& a, const UnitRange& b) { return a.begin < b.begin; });
  }

  // Names the function at the address, counted as the unit counts, and puts its inlined callers behind it.
  void ExpandInlined(Dwarf_Die* unit, Dwarf_Addr address, std::vector<Frame>* frames) {
    std::vector<Dwarf_Die> functions;
    FindFunctions(unit, address, &functions);
    for (size_t i = functions.size(); i > 0; --i) {
      Dwarf_Die* function = &functions[i - 1];
      frames->back().function = NameOfDie(function);
      if (dwarf_tag(function) != DW_TAG_inlined_subroutine) break;
      Frame caller;
      CallSiteOf(unit, function, &caller);
      frames->push_back(std::move(caller));
    }
  }

  // The function that holds an address, then what is inlined into it there, outermost first. (dwarf_getscopes() would
  // do, but does not look into namespaces, where clang puts functions.)
  static bool FindFunctions(Dwarf_Die* parent, Dwarf_Addr address, std::vector<Dwarf_Die>* functions) {
    Dwarf_Die die;
    if (dwarf_child(parent, &die) != 0) return false;
    do {
      const int tag = dwarf_tag(&die);
      if (tag == DW_TAG_namespace || tag == DW_TAG_module) {
        if (FindFunctions(&die, address, functions)) return true;
      } else if (IsFunction(tag) || tag == DW_TAG_lexical_block) {
        if (dwarf_haspc(&die, address) <= 0) continue;
        if (IsFunction(tag)) functions->push_back(die);
        FindFunctions(&die, address, functions);
        return true;
      }
    } while (dwarf_siblingof(&die, &die) == 0);
    return false;
  }

  static bool IsFunction(int tag) {
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_entry_point;
  }

  struct UnitRange {
    uint64_t begin, end;
    Dwarf_Die unit;
  };

  Elf *elf_ = nullptr, *shared_elf_ = nullptr;
  Dwarf *dwarf_ = nullptr, *shared_dwarf_ = nullptr;
  MappedFile shared_file_;  // what dwz moved out of several files
  bool memory_was_out_ = false;
  bool units_loaded_ = false;
  std::vector<UnitRange> units_;        // by begin
  bool last_has_linkage_name_ = false;  // of the DIE that NameOfDie() looked at last
#endif

  const SymbolizerOptions& options_;
  std::string path_;
  std::string build_id_;
  DebugLink link_;
  MappedFile file_, debug_file_;
  std::string_view image_;
  bool usable_ = false, looked_for_debug_ = false;
  bool looked_for_symbols_ = false;
  std::unique_ptr<ElfFile> symbols_;
  std::string unpacked_;  // .gnu_debugdata
  std::vector<std::unique_ptr<ElfFile>> more_symbols_;
  std::unordered_map<uint64_t, std::vector<Frame>> frames_;
};

Symbolizer::Symbolizer(SymbolizerOptions options) : options_(std::move(options)) {}

Symbolizer::~Symbolizer() {
  const QuietScope quiet;
  modules_.clear();
}

bool Symbolizer::has_libdw() const { return RDMACHECK_HAVE_LIBDW && options_.use_libdw; }

Symbolizer::Module* Symbolizer::ModuleOf(const Frame& frame) {
  std::unique_ptr<Module>& module = modules_[Cat(frame.build_id, ":", frame.module)];
  if (module == nullptr) module = std::make_unique<Module>(frame.module, frame.build_id, options_);
  return module.get();
}

namespace {

// A verb that <infiniband/verbs.h> writes out in the caller is the callee in the reader's eyes, as an exported one is.
void DropInlineVerbs(std::vector<Frame>* frames) {
  constexpr std::string_view kHeaders = "/infiniband/";
  while (frames->size() > 1) {
    const Frame &inner = frames->front(), &outer = (*frames)[1];
    const size_t slash = inner.file.rfind('/');
    if (slash == std::string::npos || slash + 1 < kHeaders.size()) return;
    if (inner.file.compare(slash + 1 - kHeaders.size(), kHeaders.size(), kHeaders) != 0) return;
    if (inner.offset != outer.offset || inner.module != outer.module || inner.is_python()) return;
    frames->erase(frames->begin());
  }
}

}  // namespace

void Symbolizer::Resolve(std::vector<Frame>* frames) {
  const QuietScope quiet;
  std::vector<Frame> resolved;
  resolved.reserve(frames->size());
  for (Frame& frame : *frames) {
    // The vdso and generated code have no file.
    const bool has_file = !frame.module.empty() && frame.module.front() == '/';
    const std::vector<Frame>* names = nullptr;
    if (has_file && frame.function.empty()) names = &ModuleOf(frame)->FramesAt(frame.offset);
    if (names == nullptr || names->empty()) {
      resolved.push_back(std::move(frame));
      continue;
    }
    for (const Frame& name : *names) {
      Frame full = frame;
      full.function = name.function;
      full.file = name.file;
      full.line = name.line;
      resolved.push_back(std::move(full));
    }
  }
  DropInlineVerbs(&resolved);
  *frames = std::move(resolved);
}

std::vector<Frame> SymbolizedFrames::FramesOf(StackId id) {
  if (id == kNoStack) return {};
  const auto [found, is_new] = resolved_.try_emplace(id);
  if (is_new) {
    found->second = raw_->FramesOf(id);
    if (symbolizer_ != nullptr) {
      symbolizer_->Resolve(&found->second);
    } else {
      DropInlineVerbs(&found->second);
    }
  }
  return found->second;
}

}  // namespace rdmacheck
