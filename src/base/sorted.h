// sorted(map): the entries of an unordered map in the order of their keys, so that what is done
// with them never depends on hashes.
#pragma once

#include <algorithm>
#include <vector>

namespace holdfast {

template <typename Map>
std::vector<const typename Map::value_type*> sorted(const Map& map) {
  std::vector<const typename Map::value_type*> entries;
  entries.reserve(map.size());
  for (const auto& entry : map) {
    entries.push_back(&entry);
  }
  std::sort(entries.begin(), entries.end(),
            [](const auto* left, const auto* right) { return left->first < right->first; });
  return entries;
}

}  // namespace holdfast
