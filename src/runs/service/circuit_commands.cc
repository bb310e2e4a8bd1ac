#include "runs/service/circuit_commands.h"

#include <fmt/format.h>

#include "runs/dispatch/dispatch_decide.h"

namespace holdfast {

namespace {

// A name that was mistyped is not "closed already".
Result<void> check_known(Turn& turn, const CloseCircuitRequest& request) {
  HOLDFAST_TRY(const auto definition, current_definition(turn, request.workflow));
  const auto step = definition->find(request.step);
  if (!step.has_value()) {
    return Error{ErrorCode::not_found,
                 fmt::format("workflow {} has no step {}", request.workflow, request.step)}
        .with("field", "step");
  }
  if (!definition->steps()[*step].spec.policy.circuit.is_set()) {
    return Error{ErrorCode::not_found, fmt::format("step {} of workflow {} has no circuit breaker",
                                                   request.step, request.workflow)}
        .with("field", "step");
  }
  return {};
}

}  // namespace

TurnFunction<CloseCircuitResponse> close_circuit(const CloseCircuitRequest& request) {
  return [request](Turn& turn) -> Result<CloseCircuitResponse> {
    const StepType type{SharedText(request.workflow), SharedText(request.step)};
    CloseCircuitResponse response;
    for (const auto& [name, queue] : turn.state().queues().all()) {
      if (!request.queue.empty() && name.view() != std::string_view(request.queue)) {
        continue;
      }
      if (const auto reset = decide_circuit_reset(*queue, type, request.actor, request.reason)) {
        HOLDFAST_CHECK(turn.emit(name, *reset));
        response.closed.push_back(name.str());
      }
    }
    if (response.closed.empty()) {
      HOLDFAST_CHECK(check_known(turn, request));
    }
    return response;
  };
}

}  // namespace holdfast
