#include "base/closest_word.h"

#include <algorithm>

namespace holdfast {

namespace {

constexpr std::size_t kMaxCandidates = 1000;
constexpr std::size_t kMaxWordBytes = 40;

// The number of letters to add, drop, change or swap with their neighbour.
std::size_t distance(std::string_view left, std::string_view right) {
  std::vector<std::vector<std::size_t>> cost(left.size() + 1,
                                             std::vector<std::size_t>(right.size() + 1));
  for (std::size_t i = 0; i <= left.size(); ++i) {
    for (std::size_t j = 0; j <= right.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t change = left[i - 1] == right[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[left.size()][right.size()];
}

}  // namespace

std::string_view closest_word(std::string_view word,
                              const std::vector<std::string_view>& candidates) {
  if (word.size() > kMaxWordBytes) {
    return {};
  }
  std::string_view best;
  std::size_t least = std::min<std::size_t>(2, (word.size() + 1) / 3) + 1;
  for (std::size_t i = 0; i < std::min(candidates.size(), kMaxCandidates); ++i) {
    const std::string_view candidate = candidates[i];
    const std::size_t longer = std::max(candidate.size(), word.size());
    if (longer - std::min(candidate.size(), word.size()) >= least) {
      continue;
    }
    const std::size_t differs = distance(word, candidate);
    if (differs < least) {
      least = differs;
      best = candidate;
    }
  }
  return best;
}

}  // namespace holdfast
