// Which loaded files call a watched function without coming to us: they were opened with RTLD_DEEPBIND, or bound before
// we were there.
#pragma once

#include <vector>

#include "report/sentences.h"

namespace rdmacheck {

// A statement for each such file. Walks the loaded files' relocations: for a report, not for a call.
std::vector<Statement> CallersThatBypass();

}  // namespace rdmacheck
