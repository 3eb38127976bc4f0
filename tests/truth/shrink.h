// Delta debugging: leaves out ever smaller parts of a sequence, as long as what is left fails still.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace truth {

template <class Op, class Fails>
std::vector<Op> Shrink(std::vector<Op> ops, Fails fails) {
  for (size_t part = std::max<size_t>(ops.size() / 2, 1);;) {
    bool shorter = false;
    for (size_t at = 0; at < ops.size();) {
      std::vector<Op> without(ops.begin(), ops.begin() + static_cast<std::ptrdiff_t>(at));
      without.insert(without.end(), ops.begin() + static_cast<std::ptrdiff_t>(std::min(at + part, ops.size())), ops.end());
      if (!without.empty() && fails(without)) {
        ops = without;
        shorter = true;
      } else {
        at += part;
      }
    }
    if (part == 1 && !shorter) return ops;
    part = std::max<size_t>(part / 2, 1);
  }
}

}  // namespace truth
