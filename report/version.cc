#include "report/version.h"

namespace rdmacheck {

const char* Version() { return RDMACHECK_VERSION; }

}  // namespace rdmacheck
