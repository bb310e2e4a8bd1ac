// The half-open key range [low, high) that a side-store scan covers; the same for all engines.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "storage/log/store.h"

namespace holdfast {

struct SideRange {
  std::string low;
  std::optional<std::string> high;  // empty: no upper end
};

inline std::optional<std::string> end_of_prefix(std::string prefix) {
  while (!prefix.empty()) {
    const auto last = static_cast<unsigned char>(prefix.back());
    if (last != 0xff) {
      prefix.back() = static_cast<char>(last + 1);
      return prefix;
    }
    prefix.pop_back();
  }
  return std::nullopt;
}

inline SideRange range_of(const SideScan& scan) {
  SideRange range{scan.prefix, end_of_prefix(scan.prefix)};
  if (scan.from.has_value()) {
    if (scan.order == SideScan::Order::ascending) {
      range.low = std::max(range.low, *scan.from);
    } else {
      std::string after_from = *scan.from + '\0';
      range.high = range.high.has_value() ? std::min(*range.high, after_from) : after_from;
    }
  }
  return range;
}

}  // namespace holdfast
