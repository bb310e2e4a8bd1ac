// Circuit breakers of step types.
#include "apps/server/server_call.h"
#include "apps/server/server_operations.h"
#include "runs/service/circuit_commands.h"

namespace holdfast {

Result<void> close_circuit_breaker(const CallPtr& call) {
  HOLDFAST_TRY(CloseCircuitRequest request, read_body<CloseCircuitRequest>(*call));
  HOLDFAST_CHECK(check_workflow(call->caller, request.workflow));
  request.actor = call->caller.actor(request.actor);
  submit<CloseCircuitResponse>(
      call, close_circuit(request),
      [call](const CloseCircuitResponse& response) { call->answer_json(response_json(response)); });
  return {};
}

}  // namespace holdfast
