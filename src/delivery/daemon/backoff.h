// How long a row waits after a failure: a time that doubles with each attempt up to a bound, with a
// random part, so that many daemons do not return at the same moment. The number of attempts is not
// limited; the age of the row is.
#pragma once

#include <algorithm>
#include <cstdint>

namespace holdfast::delivery {

struct BackoffSettings {
  std::int64_t first_ms = 500;
  std::int64_t most_ms = 30'000;
  std::int64_t jitter_percent = 25;
};

// attempts: those that failed, at least 1. random: any number, from which the jitter is taken.
inline std::int64_t backoff_ms(const BackoffSettings& settings, std::uint64_t attempts,
                               std::uint64_t random) {
  std::int64_t wait = settings.first_ms;
  for (std::uint64_t i = 1; i < attempts && wait < settings.most_ms; ++i) {
    wait *= 2;
  }
  wait = std::min(wait, settings.most_ms);
  const std::int64_t jitter = wait * settings.jitter_percent / 100;
  if (jitter == 0) {
    return wait;
  }
  const auto range = static_cast<std::uint64_t>(2 * jitter + 1);
  return wait - jitter + static_cast<std::int64_t>(random % range);
}

}  // namespace holdfast::delivery
