// closest_word: which known word a misspelt one is likely to mean.
#pragma once

#include <string_view>
#include <vector>

namespace holdfast {

// The candidate that differs least from `word`; empty when none is close. One letter of three may
// be wrong, two at most; swapped neighbours count as one. Only the first 1000 candidates are
// looked at, and words over 40 bytes have no close candidate, so that the cost is bounded.
std::string_view closest_word(std::string_view word,
                              const std::vector<std::string_view>& candidates);

}  // namespace holdfast
