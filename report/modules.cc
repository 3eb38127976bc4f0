#include "report/modules.h"

#include <initializer_list>

namespace rdmacheck {

bool IsOfRdmaCore(std::string_view module) {
  const std::string_view name = LastPart(module);
  if (name.find("-rdmav") != std::string_view::npos) return true;
  for (const std::string_view library : {"libibverbs.so", "librdmacm.so", "libibumad.so", "libibmad.so", "libmlx5.so",
                                         "libmlx4.so", "libefa.so", "libhns.so", "libmana.so", "libionic.so"}) {
    if (name.substr(0, library.size()) == library) return true;
  }
  return false;
}

}  // namespace rdmacheck
