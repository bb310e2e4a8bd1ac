// Bytes as text: lower-case hex, and base64url without padding (RFC 4648 section 5).
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
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
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
// False, and nothing is copied, when the text has another length.
template <std::size_t N>
bool copy_exactly(std::string_view text, std::array<std::byte, N>& out) {
  if (text.size() != N) {
    return false;
  }
  std::memcpy(out.data(), text.data(), N);
  return true;
}

}  // namespace holdfast
