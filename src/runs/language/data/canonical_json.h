// The one form of a JSON value: members sorted by the bytes of their names, no white space,
// strings with the fewest escapes, numbers that are equal written equally: what is written as an
// integer and fits 64 bits stays exact; every other number is the double it reads as, without
// fraction and exponent when it is a whole number within +-2^53 (1.0 and 1e0 are 1, -0.0 is 0),
// and otherwise the shortest text that reads as that double. A number that no double can hold
// stays as it is written. Two values are the same exactly when their canonical forms are.
#pragma once

#include <string>
#include <string_view>

namespace holdfast {

// `json` must be valid JSON. Of members that are there twice the last counts.
std::string canonical_json(std::string_view json);

}  // namespace holdfast
