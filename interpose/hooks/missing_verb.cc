#include "interpose/hooks/plt_rows.h"

namespace rdmacheck {

void TellMissing(Library library, const char* name, const char* version) {
  Checker* const checker = TheChecker();
  if (checker == nullptr) return;
  Guarded(*checker, [&] {
    const std::string path = PathOfLoaded(library);
    checker->TellOnce(std::string(name) + "@" + version + " was called, but " +
                      (path.empty() ? std::string(SonameOf(library)) + " is not in the process"
                                    : path + " has no such function") +
                      "; the call answers EOPNOTSUPP");
  });
}

}  // namespace rdmacheck
