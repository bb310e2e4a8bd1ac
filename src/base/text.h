// Small helpers for text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// Length of the UTF-8 sequence at the start of text; 0 when it is not valid UTF-8 or text is
// empty.
std::size_t utf8_sequence_length(std::string_view text);

// The character that such a sequence encodes; of a single byte, its value.
std::uint32_t code_point(std::string_view sequence);

// Decimal digits only, no sign, no leading zero (except "0" itself), must fit.
std::optional<std::uint64_t> parse_decimal(std::string_view text);

// 16 lower-case hex digits: sorts as text in the order of the numbers.
std::string sortable_hex(std::uint64_t value);
std::optional<std::uint64_t> parse_sortable_hex(std::string_view text);

// "1,234,567"
std::string with_thousands(std::uint64_t value);
// "12.3 MB": decimal units, one digit.
std::string human_bytes(std::uint64_t bytes);

}  // namespace holdfast
