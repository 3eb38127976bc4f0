#include "report/modules.h"

#include <initializer_list>

namespace rdmacheck {
namespace {

bool IsOneOf(std::string_view module, std::initializer_list<std::string_view> libraries) {
  const std::string_view name = LastPart(module);
  for (const std::string_view library : libraries) {
    if (name.substr(0, library.size()) == library) return true;
  }
  return false;
}

}  // namespace

bool IsProvider(std::string_view module) {
  return LastPart(module).find("-rdmav") != std::string_view::npos ||
         IsOneOf(module, {"libmlx5.so", "libmlx4.so", "libefa.so", "libhns.so", "libmana.so", "libionic.so"});
}

bool IsOfRdmaCore(std::string_view module) {
  return IsProvider(module) || IsOneOf(module, {"libibverbs.so", "librdmacm.so", "libibumad.so", "libibmad.so"});
}

}  // namespace rdmacheck
