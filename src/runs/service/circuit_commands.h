// Commands on circuit breakers, as functions that the loop decides.
#pragma once

#include "runs/api/run_requests.h"
#include "runs/service/run_commands.h"

namespace holdfast {

// Closes the circuit breaker of a step in the queues in which it is open. unknown_workflow and
// not_found when it is open nowhere and there is no such workflow, step or circuit breaker.
TurnFunction<CloseCircuitResponse> close_circuit(const CloseCircuitRequest& request);

}  // namespace holdfast
