// AttemptOutcome: how the execution of one attempt ended, as a worker reports it. Workers need
// these types without the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "base/shared_text.h"

namespace holdfast {

struct Completion {
  Payload result;          // any JSON value
  Payload execution_opts;  // see ExecutionOpts
  Payload details = {};    // an object that is kept with the attempt
};

struct Failure {
  Payload error;  // an object with code, message, retryable
  bool retryable = true;
  std::optional<std::uint64_t> retry_after_ms;  // instead of the delay of the retry policy
};

using AttemptOutcome = std::variant<Completion, Failure>;

// The failure "step_exception" for the exception that is being handled. Call it in a catch block.
Failure failure_of_exception();

}  // namespace holdfast
