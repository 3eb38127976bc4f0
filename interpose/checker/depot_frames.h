// The stacks of the depot as a report wants them.
#pragma once

#include <memory>
#include <vector>

#include "interpose/options/options.h"
#include "interpose/stacks/module_table.h"
#include "interpose/stacks/stack_depot.h"
#include "report/symbolize.h"

namespace rdmacheck {

// The file that this code lies in. Looked up once, by the first reporter: a forked child must not ask the loader.
ModuleId OwnModule(ModuleTable* modules);

// Without our own frames, which stand between a library's call inside an intercepted one and the program.
class DepotFrames : public FrameSource {
 public:
  DepotFrames(const StackDepot* depot, ModuleTable* modules, bool fold_python)
      : depot_(depot), modules_(modules), own_(OwnModule(modules)), fold_python_(fold_python) {}
  std::vector<Frame> FramesOf(StackId id) override;

 private:
  const StackDepot* const depot_;
  const ModuleTable* const modules_;
  const ModuleId own_;
  const bool fold_python_;  // the interpreter's frames give way to Python's own
};

// Raw frames, and names on top of them for as long as one report is written.
class ReportFrames {
 public:
  ReportFrames(const StackDepot* depot, ModuleTable* modules, const Options& options, bool symbolize);
  FrameSource* get() { return &named_; }

 private:
  DepotFrames raw_;
  std::unique_ptr<Symbolizer> symbolizer_;
  SymbolizedFrames named_;
};

}  // namespace rdmacheck
