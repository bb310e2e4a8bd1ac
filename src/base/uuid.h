// Uuid: 128-bit ids. New ones are version 7 (RFC 9562): they sort by their creation time.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "holdfast/result.h"

namespace holdfast {

struct Uuid {
  std::array<std::byte, 16> bytes{};
  friend auto operator<=>(const Uuid&, const Uuid&) = default;
};

Uuid make_uuid(TimeMs now, Random& random);

// Lower-case, 8-4-4-4-12.
std::string to_string(const Uuid& uuid);
void append_uuid(std::string& out, const Uuid& uuid);
// Any version; letters in either case. invalid_argument otherwise.
Result<Uuid> parse_uuid(std::string_view text);

}  // namespace holdfast
