// The one checker of this process, made at the first call of a verb.
#pragma once

#include "interpose/checker/checker.h"

namespace rdmacheck {

extern const Parts kParts;

// Null: memory is out.
inline Checker* TheChecker() { return Checker::GetOrMake(kParts); }

}  // namespace rdmacheck
