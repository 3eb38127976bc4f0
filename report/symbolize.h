// Finds function, file and line of frames that carry module, offset and build-id.
//
// Everything is opened for one report and closed with it: make a Symbolizer, write the report, let it go. libdw, which is
// part of this library, gives lines and inlined callers; without it there are names from the symbol tables. Only local
// files are read, unless `debuginfod` is set. A module whose file now has another build-id than the one that ran gets no
// names: none is better than a wrong one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "report/finding.h"

namespace rdmacheck {

struct SymbolizerOptions {
  bool use_libdw = true;
  // Ask the servers of DEBUGINFOD_URLS for what is missing. For the command only: never inside somebody's program.
  bool debuginfod = false;
  // Folders that hold .build-id/xx/yyyy.debug and copies of the file tree.
  std::vector<std::string> debug_roots = {"/usr/lib/debug"};
  // The bytes of a module's file as it was mapped when its code was first met, or nothing: then the file is read now.
  std::function<std::string_view(const std::string& path, const std::string& build_id)> image_of;
};

// Not thread-safe. Changes no errno; takes no lock. While it lives it may hold mappings, but no descriptor.
class Symbolizer {
 public:
  explicit Symbolizer(SymbolizerOptions options = {});
  ~Symbolizer();
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  // Fills in what can be known. Offsets are those of return addresses, so what is looked up is the byte before: the
  // call itself. A call that was inlined becomes a frame of its own before its caller, with the same module and offset.
  // Frames that have a function already are left as they are. Verbs that <infiniband/verbs.h> inlines are left out.
  void Resolve(std::vector<Frame>* frames);

  bool has_libdw() const;

 private:
  class Module;

  Module* ModuleOf(const Frame& frame);

  const SymbolizerOptions options_;
  std::unordered_map<std::string, std::unique_ptr<Module>> modules_;  // by path and build-id
};

// The stacks of another source, with names. Each stack is resolved once. Both must outlive it.
class SymbolizedFrames : public FrameSource {
 public:
  // A null symbolizer passes the frames on as they are.
  SymbolizedFrames(FrameSource* raw, Symbolizer* symbolizer) : raw_(raw), symbolizer_(symbolizer) {}
  std::vector<Frame> FramesOf(StackId id) override;

 private:
  FrameSource* const raw_;
  Symbolizer* const symbolizer_;
  std::unordered_map<StackId, std::vector<Frame>> resolved_;
};

// A function's name for people: "ns::f(int)" of "_ZN2ns1fEi"; a name that is not mangled stays.
std::string Demangled(const std::string& name);

}  // namespace rdmacheck
