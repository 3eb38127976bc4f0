#include "report/symbolize.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <utility>

#include "report/cat.h"
#include "report/elf_file.h"
#include "report/quiet_scope.h"

#if RDMACHECK_HAVE_LIBDW
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#endif

namespace rdmacheck {
namespace {

std::string_view FolderOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view(".") : path.substr(0, slash);
}

// The file with the debug information that was split off, of exactly this build; empty if it is not on this machine.
std::string FindDebugFile(const std::vector<std::string>& roots, std::string_view module, std::string_view build_id,
                          std::string_view link) {
  std::vector<std::string> candidates;
  if (build_id.size() > 2) {
    for (const std::string& root : roots) {
      candidates.push_back(Cat(root, "/.build-id/", build_id.substr(0, 2), "/", build_id.substr(2), ".debug"));
    }
  }
  if (!link.empty()) {
    const std::string_view folder = FolderOf(module);
    candidates.push_back(Cat(folder, "/", link));
    candidates.push_back(Cat(folder, "/.debug/", link));
    for (const std::string& root : roots) candidates.push_back(Cat(root, folder, "/", link));
  }
  for (std::string& candidate : candidates) {
    if (candidate == module) continue;
    const ElfFile file(candidate);
    // A link without a build-id would need a checksum over the whole file; we go without.
    if (file.ok() && !build_id.empty() && file.BuildId() == build_id) return std::move(candidate);
  }
  return {};
}

// The C library: its lines help nobody, and its debug information takes libdw 50 ms to open. Names alone will do.
bool IsCLibrary(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const std::string_view prefix : {"libc.so", "libc-2.", "libpthread", "ld-linux"}) {
    if (name.substr(0, prefix.size()) == prefix) return true;
  }
  return false;
}

// Asks the servers of DEBUGINFOD_URLS; answers the file in debuginfod's own cache, or nothing.
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
  if (name.compare(0, 2, "_Z") != 0) return name;
  int status = 0;
  char* plain = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  if (plain == nullptr) return name;
  std::string result = status == 0 ? plain : name;
  free(plain);
  return result;
}

// ---- libdw, reached by dlopen ----

#if RDMACHECK_HAVE_LIBDW

// clang-format off
#define RDMACHECK_LIBDW_FUNCTIONS(F)                                                                    \
  F(dwfl_begin) F(dwfl_end) F(dwfl_report_elf) F(dwfl_report_end) F(dwfl_module_info)                   \
  F(dwfl_module_addrdie) F(dwfl_module_nextcu) F(dwfl_module_addrinfo) F(dwfl_standard_find_debuginfo)  \
  F(dwarf_child) F(dwarf_siblingof) F(dwarf_haspc) F(dwarf_tag) F(dwarf_diename) F(dwarf_ranges)        \
  F(dwarf_attr) F(dwarf_attr_integrate) F(dwarf_formstring) F(dwarf_formudata)                          \
  F(dwarf_getsrcfiles) F(dwarf_filesrc) F(dwarf_getsrc_die) F(dwarf_linesrc) F(dwarf_lineno)
// clang-format on

class Symbolizer::Libdw {
 public:
  // Null if the library is not there or lacks a function.
  static std::unique_ptr<Libdw> Open() {
    std::unique_ptr<Libdw> libdw(new Libdw);
    libdw->handle_ = dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (libdw->handle_ == nullptr) return nullptr;
#define RDMACHECK_LOAD(name)                                                       \
  libdw->name = reinterpret_cast<decltype(&::name)>(dlsym(libdw->handle_, #name)); \
  if (libdw->name == nullptr) return nullptr;
    RDMACHECK_LIBDW_FUNCTIONS(RDMACHECK_LOAD)
#undef RDMACHECK_LOAD
    return libdw;
  }
  ~Libdw() {
    if (handle_ != nullptr) dlclose(handle_);
  }

#define RDMACHECK_DECLARE(name) decltype(&::name) name = nullptr;
  RDMACHECK_LIBDW_FUNCTIONS(RDMACHECK_DECLARE)
#undef RDMACHECK_DECLARE

 private:
  Libdw() = default;
  void* handle_ = nullptr;
};

#else

class Symbolizer::Libdw {};

#endif

// ---- One file of code ----

class Symbolizer::Module {
 public:
  Module(const std::string& path, const std::string& build_id, const SymbolizerOptions& options, const Libdw* libdw)
      : options_(options), libdw_(libdw), path_(path) {
    usable_ = OpenFile(build_id);
    if (!usable_ && !build_id.empty()) {
      // Another build lies there now, or none, as on another machine: debug information of the right build will do.
      path_ = FindDebugFile(options.debug_roots, path, build_id, {});
      if (path_.empty() && options.debuginfod) path_ = FetchDebugFile(build_id);
      usable_ = !path_.empty() && OpenFile(build_id);
    }
#if RDMACHECK_HAVE_LIBDW
    if (usable_ && libdw_ != nullptr && !IsCLibrary(path)) OpenDwfl();
#endif
  }

  ~Module() {
#if RDMACHECK_HAVE_LIBDW
    if (dwfl_ != nullptr) libdw_->dwfl_end(dwfl_);
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
  bool OpenFile(const std::string& wanted_build_id) {
    const ElfFile file(path_);
    if (!file.ok()) return false;
    build_id_ = file.BuildId();
    link_ = file.DebugLink();
    // A frame without a build-id can only be taken at its word.
    return wanted_build_id.empty() || wanted_build_id == build_id_;
  }

  std::vector<Frame> Lookup(uint64_t address) {
    std::vector<Frame> frames;
#if RDMACHECK_HAVE_LIBDW
    if (dwfl_module_ != nullptr) frames = LookupInDwarf(address);
#endif
    if (frames.empty()) {
      Frame frame;
      frame.function = NameOfSymbol(SymbolAt(address));
      if (!frame.function.empty()) frames.push_back(std::move(frame));
    }
    return frames;
  }

  std::string SymbolAt(uint64_t address) {
    if (symbols_ == nullptr) {
      symbols_ = std::make_unique<ElfFile>(path_);
      if (!symbols_->has_symtab()) {
        const std::string debug_file = FindDebugFile(options_.debug_roots, path_, build_id_, link_);
        if (!debug_file.empty()) symbols_ = std::make_unique<ElfFile>(debug_file);
      }
    }
    return symbols_->FunctionAt(address);
  }

#if RDMACHECK_HAVE_LIBDW
  static int FindElf(Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**) { return -1; }

  static int FindDebuginfo(Dwfl_Module* module, void** userdata, const char* name, Dwarf_Addr base,
                           const char* file_name, const char* link, GElf_Word crc, char** found) {
    // Asked for the second file that dwz shares between packages, libdw names no module: do without its names.
    if (userdata == nullptr || *userdata == nullptr) return -1;
    const auto* self = static_cast<const Module*>(*userdata);
    const std::string path = FindDebugFile(self->options_.debug_roots, self->path_, self->build_id_, self->link_);
    if (!path.empty()) {
      const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (fd >= 0) *found = strdup(path.c_str());
      return fd;
    }
    // libdw's own search goes to the network.
    if (!self->options_.debuginfod) return -1;
    return self->libdw_->dwfl_standard_find_debuginfo(module, userdata, name, base, file_name, link, crc, found);
  }

  void OpenDwfl() {
    static const Dwfl_Callbacks callbacks = {&FindElf, &FindDebuginfo, nullptr, nullptr};
    dwfl_ = libdw_->dwfl_begin(&callbacks);
    if (dwfl_ == nullptr) return;
    // Loaded at 0, so that addresses are the file's own, as our offsets are.
    Dwfl_Module* module = libdw_->dwfl_report_elf(dwfl_, path_.c_str(), path_.c_str(), -1, 0, true);
    libdw_->dwfl_report_end(dwfl_, nullptr, nullptr);
    if (module == nullptr) return;
    void** userdata = nullptr;
    libdw_->dwfl_module_info(module, &userdata, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    if (userdata != nullptr) *userdata = this;
    dwfl_module_ = module;
  }

  std::string NameOfDie(Dwarf_Die* die) {
    Dwarf_Attribute attribute;
    for (const unsigned name : {unsigned{DW_AT_linkage_name}, unsigned{DW_AT_MIPS_linkage_name}}) {
      if (libdw_->dwarf_attr_integrate(die, name, &attribute) == nullptr) continue;
      last_has_linkage_name_ = true;
      if (const char* linkage_name = libdw_->dwarf_formstring(&attribute)) return Demangled(linkage_name);
    }
    last_has_linkage_name_ = false;
    const char* name = libdw_->dwarf_diename(die);
    return name != nullptr ? name : "";
  }

  uint64_t UnsignedOf(Dwarf_Die* die, unsigned name) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (libdw_->dwarf_attr(die, name, &attribute) == nullptr) return 0;
    return libdw_->dwarf_formudata(&attribute, &value) == 0 ? value : 0;
  }

  // Where an inlined function was called.
  void CallSiteOf(Dwarf_Die* unit, Dwarf_Die* inlined, Frame* caller) {
    caller->line = static_cast<int>(UnsignedOf(inlined, DW_AT_call_line));
    Dwarf_Files* files = nullptr;
    size_t count = 0;
    const uint64_t index = UnsignedOf(inlined, DW_AT_call_file);
    if (libdw_->dwarf_getsrcfiles(unit, &files, &count) != 0 || index >= count) return;
    if (const char* file = libdw_->dwarf_filesrc(files, index, nullptr, nullptr)) caller->file = file;
  }

  std::vector<Frame> LookupInDwarf(uint64_t address) {
    std::vector<Frame> frames(1);
    last_has_linkage_name_ = false;
    Dwarf_Addr bias = 0;
    Dwarf_Die unit_storage;
    if (Dwarf_Die* unit = UnitAt(address, &unit_storage, &bias)) {
      if (Dwarf_Line* line = libdw_->dwarf_getsrc_die(unit, address - bias)) {
        const char* file = libdw_->dwarf_linesrc(line, nullptr, nullptr);
        if (file != nullptr) frames[0].file = file;
        libdw_->dwarf_lineno(line, &frames[0].line);
      }
      ExpandInlined(unit, address - bias, &frames);
    }
    // A function that only its file sees has no linkage name in DWARF; its symbol then says the scopes.
    if (!last_has_linkage_name_) {
      GElf_Off into = 0;
      GElf_Sym symbol;
      const char* name = libdw_->dwfl_module_addrinfo(dwfl_module_, address, &into, &symbol, nullptr, nullptr, nullptr);
      // libdw names the nearest symbol before, however far; a name of some other function would mislead.
      const bool covers = name != nullptr && (symbol.st_size == 0 || into < symbol.st_size);
      std::string* function = &frames.back().function;
      if (covers && (function->empty() || strncmp(name, "_Z", 2) == 0)) *function = NameOfSymbol(name);
    }
    if (frames.size() == 1 && frames[0].function.empty() && frames[0].file.empty()) frames.clear();
    return frames;
  }

  // The compilation unit of an address. libdw itself finds it by .debug_aranges only, which clang does not write.
  Dwarf_Die* UnitAt(uint64_t address, Dwarf_Die* storage, Dwarf_Addr* bias) {
    if (Dwarf_Die* unit = libdw_->dwfl_module_addrdie(dwfl_module_, address, bias)) return unit;
    if (!units_loaded_) LoadUnits();
    const auto after = std::upper_bound(units_.begin(), units_.end(), address,
                                        [](uint64_t wanted, const UnitRange& unit) { return wanted < unit.begin; });
    if (after == units_.begin() || address >= std::prev(after)->end) return nullptr;
    *storage = std::prev(after)->unit;
    *bias = std::prev(after)->bias;
    return storage;
  }

  void LoadUnits() {
    units_loaded_ = true;
    Dwarf_Addr bias = 0;
    for (Dwarf_Die* unit = nullptr; (unit = libdw_->dwfl_module_nextcu(dwfl_module_, unit, &bias)) != nullptr;) {
      Dwarf_Addr base = 0, begin = 0, end = 0;
      for (ptrdiff_t at = 0; (at = libdw_->dwarf_ranges(unit, at, &base, &begin, &end)) > 0;) {
        // Code that the linker threw away stays behind as a range at 0.
        if (begin != 0) units_.push_back({begin + bias, end + bias, bias, *unit});
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
      if (libdw_->dwarf_tag(function) != DW_TAG_inlined_subroutine) break;
      Frame caller;
      CallSiteOf(unit, function, &caller);
      frames->push_back(std::move(caller));
    }
  }

  // The function that holds an address, then what is inlined into it there, outermost first. (dwarf_getscopes() would
  // do, but does not look into namespaces, where clang puts functions.)
  bool FindFunctions(Dwarf_Die* parent, Dwarf_Addr address, std::vector<Dwarf_Die>* functions) {
    Dwarf_Die die;
    if (libdw_->dwarf_child(parent, &die) != 0) return false;
    do {
      const int tag = libdw_->dwarf_tag(&die);
      if (tag == DW_TAG_namespace || tag == DW_TAG_module) {
        if (FindFunctions(&die, address, functions)) return true;
      } else if (IsFunction(tag) || tag == DW_TAG_lexical_block) {
        if (libdw_->dwarf_haspc(&die, address) <= 0) continue;
        if (IsFunction(tag)) functions->push_back(die);
        FindFunctions(&die, address, functions);
        return true;
      }
    } while (libdw_->dwarf_siblingof(&die, &die) == 0);
    return false;
  }

  static bool IsFunction(int tag) {
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_entry_point;
  }

  struct UnitRange {
    uint64_t begin, end;
    Dwarf_Addr bias;
    Dwarf_Die unit;
  };

  Dwfl* dwfl_ = nullptr;
  Dwfl_Module* dwfl_module_ = nullptr;
  bool units_loaded_ = false;
  std::vector<UnitRange> units_;        // by begin
  bool last_has_linkage_name_ = false;  // of the DIE that NameOfDie() looked at last
#endif

  const SymbolizerOptions& options_;
  [[maybe_unused]] const Libdw* const libdw_;
  std::string path_;
  std::string build_id_, link_;
  bool usable_ = false;
  std::unique_ptr<ElfFile> symbols_;
  std::unordered_map<uint64_t, std::vector<Frame>> frames_;
};

Symbolizer::Symbolizer(SymbolizerOptions options) : options_(std::move(options)) {
#if RDMACHECK_HAVE_LIBDW
  const QuietScope quiet;
  if (options_.use_libdw) libdw_ = Libdw::Open();
#endif
}

Symbolizer::~Symbolizer() {
  const QuietScope quiet;
  modules_.clear();  // before the library that their destructors call
  libdw_.reset();
}

bool Symbolizer::has_libdw() const { return libdw_ != nullptr; }

Symbolizer::Module* Symbolizer::ModuleOf(const Frame& frame) {
  std::unique_ptr<Module>& module = modules_[Cat(frame.build_id, ":", frame.module)];
  if (module == nullptr) module = std::make_unique<Module>(frame.module, frame.build_id, options_, libdw_.get());
  return module.get();
}

namespace {

// A verb that <infiniband/verbs.h> inlines is the call itself, and its name (__ibv_reg_mr) says less than its caller's.
bool IsInlinedVerb(const std::vector<Frame>& frames) {
  constexpr std::string_view kHeader = "infiniband/verbs.h";
  if (frames.size() < 2 || frames[0].module != frames[1].module || frames[0].offset != frames[1].offset) return false;
  const std::string& file = frames[0].file;
  return file.size() >= kHeader.size() && file.compare(file.size() - kHeader.size(), kHeader.size(), kHeader) == 0;
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
  while (IsInlinedVerb(resolved)) resolved.erase(resolved.begin());
  *frames = std::move(resolved);
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
    if (inner.offset != outer.offset || inner.module != outer.module) return;
    frames->erase(frames->begin());
  }
}

}  // namespace

std::vector<Frame> SymbolizedFrames::FramesOf(StackId id) {
  if (id == kNoStack) return {};
  const auto [found, is_new] = resolved_.try_emplace(id);
  if (is_new) {
    found->second = raw_->FramesOf(id);
    if (symbolizer_ != nullptr) symbolizer_->Resolve(&found->second);
    DropInlineVerbs(&found->second);
  }
  return found->second;
}

}  // namespace rdmacheck
