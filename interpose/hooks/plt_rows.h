// The checker's hooks of exported verbs.
#pragma once

#include "interpose/hooks/intercept.h"
#include "interpose/hooks/rows.h"

namespace rdmacheck {

// Says, once a process, that a function was called that its library does not have.
void TellMissing(Library library, const char* name, const char* version);

template <class Row>
typename Row::Fn Next() {
  const typename Row::Fn real = NextOf<Row>();
  if (real == nullptr) {
    const int saved = errno;
    TellMissing(Row::kLibrary, Row::kName, Row::kVersion);
    errno = saved;
  }
  return real;
}

// The hook that dlsym gives out for a handle.
template <class Row, class Fn>
struct HandleHook;
template <class Row, class R, class... A>
struct HandleHook<Row, R (*)(A...)> {
  static R Call(A... a) {
    return Intercept<Row>(InLibrary<Row>(), a...);
  }
};

}  // namespace rdmacheck
