// BLAKE3-256 (plain hash mode, https://github.com/BLAKE3-team/BLAKE3-specs), for formats that
// prescribe it. Portable code without SIMD; sha256 in hash.h is faster where the choice is ours.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/hash.h"

namespace holdfast {

Digest blake3(std::span<const std::byte> bytes);
Digest blake3(std::string_view text);

}  // namespace holdfast
