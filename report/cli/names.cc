#include "report/cli/names.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "report/cli/terminal.h"

namespace rdmacheck {

void FindNames(const SymbolizerOptions& how, ReportSet* set) {
  Symbolizer symbolizer(how);
  ProgressBar bar("symbols");
  for (StackId id = 1; id < set->stacks.size(); ++id) {
    std::vector<Frame> frames = set->stacks.Get(id);
    const bool lacks = std::any_of(frames.begin(), frames.end(),
                                   [](const Frame& frame) { return frame.function.empty() && !frame.module.empty(); });
    if (!lacks) continue;
    symbolizer.Resolve(&frames);
    set->stacks.Replace(id, std::move(frames));
    bar.Show(static_cast<double>(id) / set->stacks.size());
  }
}

}  // namespace rdmacheck
