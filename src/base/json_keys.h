// Keys that appear twice in one JSON object: readers disagree on which value counts, so JSON that
// users write is refused if it has any.
#pragma once

#include <optional>
#include <string>

#include "base/json_value.h"

namespace holdfast {

// The path of the first key that appears twice in its object, at any depth: "order.lines[2].sku".
// Keys are compared as they read, not as they are escaped. One pass.
std::optional<std::string> find_repeated_key(const JsonText& json);

// invalid_json that names the key.
Result<void> check_unique_keys(const JsonText& json);

}  // namespace holdfast
