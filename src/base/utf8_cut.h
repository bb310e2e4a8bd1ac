// Cuts text from outside for display or storage without splitting a character.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast {

// At most that many bytes from the start or the end.
std::string_view utf8_prefix(std::string_view text, std::size_t max_bytes);
std::string_view utf8_suffix(std::string_view text, std::size_t max_bytes);

// The text with U+FFFD in place of each byte that is not UTF-8.
std::string valid_utf8(std::string_view text);

}  // namespace holdfast
