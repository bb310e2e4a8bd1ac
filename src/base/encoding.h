// Bytes as text: lower-case hex, and base64url without padding (RFC 4648 section 5).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"

namespace holdfast {

std::string to_hex(std::span<const std::byte> bytes);
// Two characters for each byte.
void write_hex(std::span<const std::byte> bytes, char* out);
std::string to_base64url(std::span<const std::byte> bytes);

// Strict: upper-case hex, padding, stray bits and foreign characters are invalid_argument.
Result<std::vector<std::byte>> from_hex(std::string_view text);
Result<std::vector<std::byte>> from_base64url(std::string_view text);

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace holdfast
