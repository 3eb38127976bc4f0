#include "interpose/checker/depot_frames.h"

#include <algorithm>
#include <utility>

#include "report/python_frames.h"

namespace rdmacheck {
namespace {

SymbolizerOptions OptionsFor(const ModuleTable* modules) {
  SymbolizerOptions options;
  options.image_of = [modules](const std::string& path, const std::string& build_id) {
    return modules->ImageOf(path, build_id);
  };
  return options;
}

}  // namespace

ModuleId OwnModule(ModuleTable* modules) {
  static const ModuleId own = [modules] {
    void* const here = reinterpret_cast<void*>(&OwnModule);
    CodePlace place;
    modules->Resolve(&here, 1, &place);
    return place.module;
  }();
  return own;
}

std::vector<Frame> DepotFrames::FramesOf(StackId id) {
  std::vector<Frame> frames;
  std::vector<PythonPart> parts;
  const StackDepot::Node* node = depot_->Get(id);
  for (int i = 0; node != nullptr && i < node->depth; ++i) {
    if (own_ != 0 && node->places[i].module == own_) continue;
    const Module module = modules_->Get(node->places[i].module);
    Frame frame;
    frame.module = module.path;
    frame.build_id = module.build_id;
    frame.offset = node->places[i].offset;
    frames.push_back(std::move(frame));
    parts.push_back(PartOf(module, node->places[i].offset));
  }
  if (node == nullptr || !fold_python_) return frames;
  std::vector<Frame> python;
  for (size_t i = 0; node->python != nullptr && i < node->python->depth; ++i) {
    Frame frame;
    frame.function = node->python->frames[i].function;
    frame.file = node->python->frames[i].file;
    frame.line = std::max(0, node->python->frames[i].line);
    frame.language = Language::kPython;
    python.push_back(std::move(frame));
  }
  return WithPython(std::move(frames), parts, std::move(python));
}

ReportFrames::ReportFrames(const StackDepot* depot, ModuleTable* modules, const Options& options, bool symbolize)
    : raw_(depot, modules, options.python),
      symbolizer_(symbolize ? std::make_unique<Symbolizer>(OptionsFor(modules)) : nullptr),
      named_(&raw_, symbolizer_.get()) {}

}  // namespace rdmacheck
