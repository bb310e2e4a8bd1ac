// JSON objects that a program passes as text.
#pragma once

#include <string_view>

#include "base/shared_text.h"
#include "holdfast/result.h"

namespace holdfast {

// invalid_json, also when a key appears twice; invalid_argument when the value is not an object.
// The error names the field.
Result<Payload> object_of(std::string_view field, std::string_view text);

}  // namespace holdfast
