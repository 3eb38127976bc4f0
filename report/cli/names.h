// Functions, files and lines for frames that a report has without them, out of the modules that are here now.
#pragma once

#include "report/reader/report_set.h"
#include "report/symbolize.h"

namespace rdmacheck {

// Shows on a terminal how far it is when that takes long.
void FindNames(const SymbolizerOptions& how, ReportSet* set);

}  // namespace rdmacheck
