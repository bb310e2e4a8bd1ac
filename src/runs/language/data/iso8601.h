// Times as text in the form of ISO 8601.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace holdfast {

// 2026-11-16T08:30:00.000Z and 2026-11-16.
std::string iso8601_time(TimeMs time);
std::string iso8601_day(TimeMs time);
// Reads a time: 2026-11-16T08:30:00Z, with fractions of a second, or +01:00 instead
// of Z; a day alone is its midnight UTC. Years have four digits; what is finer than a millisecond
// is cut off. Empty when the text is not a time.
std::optional<TimeMs> parse_iso8601(std::string_view text);

}  // namespace holdfast
