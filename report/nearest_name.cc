#include "report/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace rdmacheck {
namespace {

// Levenshtein, one row at a time.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view NearestName(std::string_view name, const std::vector<std::string_view>& names) {
  std::string_view nearest;
  size_t least = 0;
  for (const std::string_view candidate : names) {
    const size_t distance = EditDistance(name, candidate);
    if (nearest.empty() || distance < least) {
      nearest = candidate;
      least = distance;
    }
  }
  return nearest;
}

}  // namespace rdmacheck
