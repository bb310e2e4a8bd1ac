// What a step handler said, as it is stored.
#pragma once

#include "holdfast/step.h"
#include "runs/facts/attempt_outcome.h"

namespace holdfast {

// A larger result fails its step: it must fit into an entry together with the context it joins.
inline constexpr std::size_t kMaxResultBytes = 4U << 20U;

// What a step can say beside a result.
Failure step_failure(std::string_view code, std::string_view message, bool retryable,
                     const Payload& details = {});
// Too early: the step is to be done again, that much later.
Completion step_deferral(std::string_view reason, std::uint64_t schedule_in_ms);
// The run ends and goes on as a new one. input: an object.
Completion step_continuation(std::string_view key, const Payload& input);
// What follows begins that much later.
Payload schedule_in(std::uint64_t delay_ms);

// A result that is no JSON is the failure invalid_result, one that is too large result_too_large.
AttemptOutcome outcome_of(const StepResult& result);

// The other way round, for those who are told what was executed.
StepResult::Kind kind_of(const AttemptOutcome& outcome);

}  // namespace holdfast
