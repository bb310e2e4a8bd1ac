// The syntax of names: of queues, workflows, handlers, fields and everything else that users name.
#pragma once

#include <cstddef>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast {

inline constexpr std::size_t kMaxNameBytes = 128;

// A letter or digit, then letters, digits, '_', '.' and '-'; at most kMaxNameBytes. A name can be
// a part of a thread name and never needs escaping.
bool is_name(std::string_view text);

// invalid_argument, with the rejected name in the field `what`, for example "queue".
Result<void> check_name(std::string_view what, std::string_view name);

}  // namespace holdfast
