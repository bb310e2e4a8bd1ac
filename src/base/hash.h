// SHA-256, and comparison of secrets in constant time.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace holdfast {

using Digest = std::array<std::byte, 32>;

Digest sha256(std::string_view text);
// The digest of the concatenated parts.
Digest sha256(std::initializer_list<std::span<const std::byte>> parts);

std::string to_hex(const Digest& digest);

// The time depends only on the lengths, not on where the texts differ.
bool equal_secrets(std::string_view left, std::string_view right);

}  // namespace holdfast
