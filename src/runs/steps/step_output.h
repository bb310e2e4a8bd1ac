// The output of a built-in step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json_value.h"

namespace holdfast {

struct StepOutput {
  bool ok = false;
  JsonText result;      // of a completed step: any JSON value
  std::string code;     // of a failed step: a name, at most 64 bytes
  std::string message;  // for users, without secrets
  bool retryable = false;
  std::optional<std::uint64_t> retry_after_ms;
  JsonText details;  // an object kept with the attempt in both cases: stderr, status, ...
};

}  // namespace holdfast
