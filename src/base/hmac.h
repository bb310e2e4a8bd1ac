// HMAC with SHA-256 (RFC 2104).
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>

#include "base/hash.h"

namespace holdfast {

// Of the concatenated parts.
Digest hmac_sha256(std::span<const std::byte> key,
                   std::initializer_list<std::span<const std::byte>> parts);

}  // namespace holdfast
