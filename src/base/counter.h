// Distinct types for different counts, so that a revision is never mistaken for a position.
#pragma once

#include <compare>
#include <cstdint>

namespace holdfast {

template <typename Tag>
struct Counter {
  std::uint64_t value = 0;

  [[nodiscard]] constexpr Counter next() const { return Counter{value + 1}; }
  [[nodiscard]] constexpr Counter plus(std::uint64_t count) const { return Counter{value + count}; }
  friend constexpr auto operator<=>(const Counter&, const Counter&) = default;
};

}  // namespace holdfast
