// sorted(map): the entries of an unordered map in the order of their keys, so that nothing depends
// on the order of hashes.
#pragma once

#include <algorithm>
#include <vector>

namespace holdfast {

// sorted(map, before): in another order, which must be total.
template <typename Map, typename Before>
std::vector<const typename Map::value_type*> sorted(const Map& map, Before before) {
  std::vector<const typename Map::value_type*> entries;
  entries.reserve(map.size());
  for (const auto& entry : map) {
    entries.push_back(&entry);
  }
  std::sort(entries.begin(), entries.end(),
            [&](const auto* left, const auto* right) { return before(*left, *right); });
  return entries;
}

template <typename Map>
std::vector<const typename Map::value_type*> sorted(const Map& map) {
  return sorted(map, [](const auto& left, const auto& right) { return left.first < right.first; });
}

}  // namespace holdfast
