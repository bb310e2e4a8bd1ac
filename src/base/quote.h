// Text from outside (files, arguments, requests) as messages show it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast {

// How much of a name or value messages show.
inline constexpr std::size_t kMaxShownBytes = 128;

// Readable on one line of a terminal: control characters, line separators, characters that change
// the direction of text, and bytes that are not UTF-8 become \n, \t, \xNN or \u{NNNN}. What is
// longer than max_bytes is cut at a whole character, with "..." behind it.
std::string printable(std::string_view text, std::size_t max_bytes = SIZE_MAX);

// At most kMaxShownBytes of it in double quotes; quotes and backslashes are escaped too.
std::string quote(std::string_view text);

}  // namespace holdfast
