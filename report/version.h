// The version of rdmacheck: from the git tag, at configuration (cmake/version.cmake).
#pragma once

namespace rdmacheck {

const char* Version();

}  // namespace rdmacheck
