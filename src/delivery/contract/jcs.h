// jcs: the canonical form of a JSON value by RFC 8785, in which every implementation writes the
// same value with the same bytes: members in the order of their UTF-16 code units, numbers as
// ECMAScript prints them, strings with the fewest escapes, no white space. Request fingerprints
// are made with it, so the form of a value never changes.
//
// It refuses what implementations read differently (I-JSON, RFC 7493): a name that appears twice
// in an object, half of a surrogate pair, an integer beyond 2^53 - 1 (in any form, below 1e21), a
// number that no double can hold, and more than kMaxJcsDepth levels. The canonical form of a
// canonical form is itself.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast::delivery {

inline constexpr std::size_t kMaxJcsDepth = 64;

// invalid_json, also for text that is not JSON.
Result<std::string> jcs(std::string_view json);

}  // namespace holdfast::delivery
