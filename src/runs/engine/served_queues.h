// ServedQueues: the queues that a worker takes attempts from.
#pragma once

#include <optional>
#include <vector>

#include "base/shared_text.h"

namespace holdfast {

// In order of preference; an empty list: none. No value: all but those that lease backends carry;
// what has been visible longest is claimed first.
using ServedQueues = std::optional<std::vector<SharedText>>;

}  // namespace holdfast
