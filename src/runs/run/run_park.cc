// Parked steps: the last attempt has failed, and the run waits until an operator decides whether
// the step is attempted again or fails. run_fault.cc parks steps in which the definition has a
// fault.
#include <fmt/format.h>

#include "runs/facts/activation.h"
#include "runs/run/run_draft.h"
#include "runs/run/run_planning.h"

namespace holdfast {

bool parks(const RunProjection& run, const Runnable& plan) {
  const std::string_view name = plan.step.view();
  if (policy_of(run, plan).then != AfterRetries::park || plan.is_timer() || plan.is_internal()) {
    return false;
  }
  if (run.is_compensating() && !is_compensation(name)) {
    return false;
  }
  const PlannedRunnable* whole = is_item(name) ? run.latest(without_item(name)) : nullptr;
  return whole == nullptr || !whole->applied;
}

void RunDraft::park(const PlannedRunnable& planned, const Payload& error) {
  ManualStepPaused parked;
  parked.run_id = run_.run_id();
  parked.step = planned.plan.step;
  parked.kind = ManualKind::parked;
  parked.paused_at = now_;
  parked.runnable_key = planned.plan.runnable_key;
  parked.queue = planned.plan.queue;
  parked.error = error;
  add(std::move(parked));
}

Runnable retried_by_operator(const Runnable& parked, const Payload& input, TimeMs now) {
  Runnable again = parked;
  again.attempt_number = parked.attempt_number + 1;
  again.earlier_attempts = parked.attempt_number;
  again.runnable_key = runnable_key(parked.run_id, parked.step.view(), again.attempt_number);
  again.visible_at = now;
  again.deferred.reset();
  if (!input.empty()) {
    again.input = input;
  }
  return again;
}

namespace {

// Whether its attempt has an input. What the engine does by itself has none.
bool takes_input(const RunProjection& run, const PlannedRunnable& parked) {
  const std::string_view name = parked.plan.step.view();
  if (!parked.plan.is_internal() || parked.applied) {
    return !parked.applied;
  }
  const auto index = run.definition()->find(name);
  if (!index.has_value()) {
    return false;
  }
  const StepSpec& spec = run.definition()->steps()[*index].spec;
  return spec.is_called() && (!spec.for_each.has_value() || is_item(name));
}

}  // namespace

Result<void> check_retry_input(const RunProjection& run, const PlannedRunnable& planned,
                               const Payload& input) {
  if (input.empty()) {
    return {};
  }
  const Runnable& parked = planned.plan;
  if (!takes_input(run, planned)) {
    return refusal(run, ErrorCode::invalid_argument,
                   fmt::format("what is parked at step \"{}\" takes no input; retry it without one",
                               parked.step.view()))
        .with("field", "input");
  }
  if (!input.is_object()) {
    return refusal(run, ErrorCode::invalid_argument, "the input of a retry is a JSON object")
        .with("field", "input");
  }
  const auto index = run.definition()->find(parked.step.view());
  const bool has_contract = index.has_value() && !is_compensation(parked.step.view()) &&
                            run.definition()->steps()[*index].input_contract.has_value();
  if (!has_contract) {
    return {};
  }
  HOLDFAST_TRY(const Json json, Json::parse(input.view()));
  const ContractMisfit misfit =
      run.definition()->steps()[*index].input_contract->check(json, UnknownFields::allowed);
  if (misfit.none()) {
    return {};
  }
  return refusal(run, ErrorCode::invalid_payload,
                 fmt::format("the input of step \"{}\" does not fit: {}", parked.step.view(),
                             misfit.text()))
      .with("step", parked.step.view())
      .with("errors", misfit.json().view());
}

}  // namespace holdfast
