// What a built-in step answers, for whoever called it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json_value.h"

namespace holdfast {

struct StepOutput {
  bool ok = false;
  JsonText result;      // of a step that is done: any JSON value
  std::string code;     // of one that failed: a name, at most 64 bytes
  std::string message;  // for people, without secrets
  bool retryable = false;
  std::optional<std::uint64_t> retry_after_ms;
  JsonText details;  // an object that is kept with the attempt, either way: stderr, status, ...
};

}  // namespace holdfast
