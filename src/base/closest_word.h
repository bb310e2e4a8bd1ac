// closest_word: which known word a misspelt one is likely to mean.
#pragma once

#include <string_view>
#include <vector>

namespace holdfast {

// The candidate that differs least from `word`; empty if none is close. One letter of three may be
// wrong, two at most; a swap of neighbours counts as one. The cost is bounded: only the first 1000
// candidates are examined, and a word over 40 bytes has no close candidate.
std::string_view closest_word(std::string_view word,
                              const std::vector<std::string_view>& candidates);

}  // namespace holdfast
