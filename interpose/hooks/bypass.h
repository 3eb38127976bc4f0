// Which loaded files call a watched function without coming to us: they were opened with RTLD_DEEPBIND, or bound before
// we were there.
#pragma once

#include <string>
#include <vector>

namespace rdmacheck {

// A sentence for each such file. Walks the loaded files' relocations: for a report, not for a call.
std::vector<std::string> CallersThatBypass();

}  // namespace rdmacheck
