// Bytes as base64 with padding (RFC 4648 section 4), as HTTP headers carry them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"

namespace holdfast {

std::string to_base64(std::span<const std::byte> bytes);

// Strict: the only form that to_base64 gives. invalid_argument.
Result<std::vector<std::byte>> from_base64(std::string_view text);

}  // namespace holdfast
