// Durations as people write them: "200ms", "5s", "1h30m", "2d". Units ms, s, m, h, d, the longest
// first, each at most once; whole numbers only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast {

// Milliseconds. Empty when the text is not a duration; UINT64_MAX when it is too long.
std::optional<std::uint64_t> parse_duration(std::string_view text);

}  // namespace holdfast
