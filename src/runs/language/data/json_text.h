// A parsed JSON value as text again: compact, members in the order they were in. Reading it gives
// the same value.
#pragma once

#include <string>

#include "base/json_value.h"

namespace holdfast {

std::string json_text(const Json& json);

}  // namespace holdfast
