// ErrorOrigin: where the error of a run came from, as the error itself says.
#pragma once

#include <optional>
#include <string>

#include "base/shared_text.h"

namespace holdfast {

struct ErrorOrigin {
  std::optional<std::string> step;  // empty text: the error has a member that names no step
  bool of_item = false;             // of one item of a step with for_each
};

ErrorOrigin error_origin(const Payload& error);

}  // namespace holdfast
