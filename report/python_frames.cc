#include "report/python_frames.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace rdmacheck {
namespace {

// As Python's own tracebacks do: what an import runs is nobody's code.
bool IsImport(const Frame& frame) {
  constexpr std::string_view kImport = "<frozen importlib";
  return std::string_view(frame.file).substr(0, kImport.size()) == kImport;
}

}  // namespace

std::vector<Frame> WithPython(std::vector<Frame> frames, const std::vector<PythonPart>& parts, std::vector<Frame> python) {
  const auto evals = static_cast<size_t>(std::count(parts.begin(), parts.end(), PythonPart::kEval));
  const bool one_each = evals == python.size();
  std::vector<Frame> merged;
  size_t next = 0;  // of the Python frames
  const auto add = [&](size_t count) {
    for (; count > 0 && next < python.size(); --count, ++next) {
      if (!IsImport(python[next])) merged.push_back(std::move(python[next]));
    }
  };
  for (size_t i = 0; i < frames.size();) {
    if (parts[i] == PythonPart::kNone) {
      merged.push_back(std::move(frames[i++]));
      continue;
    }
    size_t end = i, ran = 0, kept = i;
    for (; end < frames.size() && parts[end] != PythonPart::kNone; ++end) {
      if (parts[end] != PythonPart::kEval) continue;
      if (ran++ == 0) kept = end;
    }
    const size_t before = merged.size();
    if (ran > 0) add(one_each ? ran : python.size());
    if (merged.size() == before) {
      // Named here: what is inlined there would be frames again.
      if (ran > 0) frames[kept].function = "_PyEval_EvalFrameDefault";
      merged.push_back(std::move(frames[kept]));
    }
    i = end;
  }
  add(python.size());
  return merged;
}

}  // namespace rdmacheck
