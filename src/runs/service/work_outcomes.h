// What workers outside the engine's process need of it, and what their reports mean, whatever
// carried them.
#pragma once

#include "runs/api/work_requests.h"
#include "runs/engine/claim_request.h"
#include "runs/facts/attempt_outcome.h"

namespace holdfast {

// The outcome that the engine stores. A report that is not allowed becomes a failure of the step.
AttemptOutcome outcome_of(const Report& report);

// The JSON of an http or exec step in its definition; empty for other steps.
Payload step_spec(const Assignment& assignment);

}  // namespace holdfast
