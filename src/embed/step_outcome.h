// What a step handler said, as it is stored.
#pragma once

#include "engine/worker_pool.h"
#include "holdfast/step.h"

namespace holdfast {

// A larger result fails its step: it must fit into an entry together with the context it joins.
inline constexpr std::size_t kMaxResultBytes = 4U << 20U;

// A result that is no JSON is the failure invalid_result, one that is too large result_too_large.
HandlerOutcome outcome_of(const StepResult& result);

// The other way round, for those who are told what was executed.
StepResult::Kind kind_of(const HandlerOutcome& outcome);

StepInfo info_of(const Assignment& assignment);

}  // namespace holdfast
