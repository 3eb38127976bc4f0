// One report that holds something of everything, for the tests of the writers: nothing in it depends on the machine.
#pragma once

#include <vector>

#include "report/finding.h"

namespace rdmacheck {

// Stacks 1 to 6, written out in fixed_report.cc.
class FixedFrames : public FrameSource {
 public:
  std::vector<Frame> FramesOf(StackId id) override;
};

ObjectRef FixedObject(const char* kind, uint64_t serial, StackId created);

// A leak at close of two groups, a double destroy, a refused destroy with seven children, a failed create with what is
// held, seven groups open at exit, and a suppressed leak.
Report FixedReport();

// The findings of a rule, as one text shows them.
std::vector<Finding> FindingsOf(const Report& report, Rule rule);

}  // namespace rdmacheck
