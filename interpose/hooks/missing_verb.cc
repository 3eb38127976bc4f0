#include "interpose/hooks/plt_rows.h"

namespace rdmacheck {

void TellMissing(Library library, const char* name, const char* version) {
  Checker* const checker = TheChecker();
  if (checker == nullptr) return;
  Guarded(*checker, [&] {
    const std::string path = PathOfLoaded(library);
    checker->TellOnce(path.empty() ? Is<Sentence::kLibraryNotLoaded>(name, version, SonameOf(library))
                                   : Is<Sentence::kNoSuchFunction>(name, version, path));
  });
}

}  // namespace rdmacheck
