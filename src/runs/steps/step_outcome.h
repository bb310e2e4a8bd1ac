// Converts the results of step handlers to the outcomes that are stored.
#pragma once

#include "holdfast/step.h"
#include "runs/facts/attempt_outcome.h"

namespace holdfast {

// A larger result fails its step: it must fit into one entry together with the context.
inline constexpr std::size_t kMaxResultBytes = 4U << 20U;

Failure step_failure(std::string_view code, std::string_view message, bool retryable,
                     const Payload& details = {});
// The step is executed again after the delay.
Completion step_deferral(std::string_view reason, std::uint64_t schedule_in_ms);
// The run ends and continues as a new run. input: an object.
Completion step_continuation(std::string_view key, const Payload& input);
// Delays the following steps, and changes the graph of the run. Empty when there is neither.
Payload completion_opts(std::uint64_t schedule_in_ms, const Payload& graph);

// A result that is not JSON becomes the failure invalid_result, one that is too large
// result_too_large.
AttemptOutcome outcome_of(const StepResult& result);

// The kind of result that led to the outcome.
StepResult::Kind kind_of(const AttemptOutcome& outcome);

}  // namespace holdfast
