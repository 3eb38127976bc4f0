// Frames of Python among those of C.
#pragma once

#include <vector>

#include "report/finding.h"

namespace rdmacheck {

// What a C frame is to the Python that runs in its process.
enum class PythonPart : uint8_t { kNone, kInterpreter, kEval };  // kEval: the loop that runs Python code

// The C frames with those of Python, both innermost first. A run of the interpreter's frames gives way to the Python frames
// that it ran; where these are not known, one of its frames stays. Since 3.11 one frame of the loop runs several Python
// frames: if their numbers differ, all stand at the innermost run.
std::vector<Frame> WithPython(std::vector<Frame> frames, const std::vector<PythonPart>& parts, std::vector<Frame> python);

}  // namespace rdmacheck
