// Progress of long operations.
#pragma once

#include <cstdint>
#include <functional>

namespace holdfast {

struct ProgressPoint {
  std::uint64_t done = 0;
  std::uint64_t total = 0;
};

// Called from time to time; may be empty.
using Progress = std::function<void(const ProgressPoint&)>;

}  // namespace holdfast
