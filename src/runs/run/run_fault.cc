// Faults of a definition that show only while a run executes: a path of a mapping that leads
// nowhere, a list that is none, a time that is none, a child that cannot be started, a result that
// no transition fits. The step is parked, unless something in the definition takes the error. What
// is parked is carried out again from its start when an operator retries it, or when the run
// migrates.
#include <fmt/format.h>

#include <algorithm>

#include "runs/facts/activation.h"
#include "runs/run/run_draft.h"
#include "runs/run/run_planning.h"

namespace holdfast {

bool is_fault(const RunProjection& run, const ManualState& state) {
  const PlannedRunnable* planned =
      state.kind == BoundaryKind::parked ? run.find(state.runnable_key.view()) : nullptr;
  return planned != nullptr && (planned->plan.is_internal() || planned->applied);
}

void RunDraft::fault(const PlannedRunnable& planned, const Payload& error) {
  if (takes_error(planned.plan, error)) {
    failed(planned, error);
  } else {
    park(planned, error);
  }
}

// Whether the run continues when the step fails with the error.
bool RunDraft::takes_error(const Runnable& plan, const Payload& error) const {
  const std::string_view name = plan.step.view();
  const auto index = definition().find(name);
  if (run_.is_compensating() || is_compensation(name)) {
    return true;
  }
  if (!index.has_value()) {
    return name != kOutputStep;
  }
  const Step& step = definition().steps()[*index];
  if (!is_item(name)) {
    return choose(step.on_error, ContextView(run_, {}, error_result(error))) != nullptr;
  }
  const PlannedRunnable* whole = run_.latest(without_item(name));
  if (whole == nullptr || whole->applied || !step.spec.for_each.has_value() ||
      step.spec.for_each->on_error == EachErrors::collect) {
    return true;
  }
  const Payload of_list = item_error(error, *parse_activation(name).item);
  return choose(step.on_error, ContextView(run_, {}, error_result(of_list))) != nullptr;
}

// The output belongs to no step, so a runnable of its own stands for it.
void RunDraft::plan_output_fault(const Payload& error) {
  const PlannedRunnable* last = run_.latest(kOutputStep);
  Runnable output = first_attempt(run_, SharedText(kOutputStep), {});
  if (last != nullptr) {
    output.attempt_number = last->plan.attempt_number + 1;
    output.runnable_key = runnable_key(run_.run_id(), kOutputStep, output.attempt_number);
  }
  output.visible_at = now_;
  plan_failed(std::move(output), error);
}

void RunDraft::retry(const PlannedRunnable& parked, const Payload& input) {
  if (parked.applied) {
    follow_undecided(parked);
  } else if (!parked.plan.is_internal()) {
    plan(retried_by_operator(parked.plan, input, now_));
  } else if (parked.plan.step.view() == kOutputStep) {
    // The run ends, or the next runnable of the output is parked.
    add(applied_fact(run_, parked.plan, {}, now_));
  } else {
    begin_again(parked.plan, input);
  }
}

void RunDraft::give_up(const PlannedRunnable& planned, const Payload& error) {
  if (planned.applied) {
    fail_run(error);
  } else {
    fail_step(planned, error);
  }
}

Payload RunDraft::transition_after(const PlannedRunnable& parked) const {
  const auto index = definition().find(parked.plan.step.view());
  if (!index.has_value()) {
    return Payload();
  }
  const Step& step = definition().steps()[*index];
  if (step.on_ok.empty()) {
    return to_json(taken_by(parked.plan, RouteOn::ok, SharedText(kCompleteStep))).value();
  }
  const Transition* taken = choose(step.on_ok, ContextView(run_, parked.output_key, parked.result));
  return taken == nullptr ? Payload()
                          : to_json(chosen_by(parked.plan, RouteOn::ok, *taken)).value();
}

// Where the transition leads that the retry took; the step stays parked when it took none.
void RunDraft::follow_undecided(const PlannedRunnable& parked) {
  if (parked.is_undecided()) {
    park(parked, no_transition_error(parked.plan));
    return;
  }
  const Step& step = definition().steps()[*definition().find(parked.plan.step.view())];
  const Transition* taken = choose(step.on_ok, ContextView(run_, parked.output_key, parked.result));
  const ExecutionOpts opts = execution_opts(parked.execution_opts);
  const TimeMs visible_at = std::max(now_, later(parked.applied_at, opts.schedule_in_ms));
  if (taken == nullptr) {
    end_path(path_name(parked.plan), visible_at);
  } else {
    follow(taken->to, path_name(parked.plan), visible_at, failed_by_transition(parked.plan));
  }
}

// As if it had not begun, but for the number of its attempt: its key is not used twice.
void RunDraft::begin_again(const Runnable& parked, const Payload& input) {
  const std::string_view name = parked.step.view();
  const auto index = definition().find(name);
  const auto item = parse_activation(name).item;
  if (!index.has_value() || (item.has_value() && run_.each(without_item(name)) == nullptr)) {
    return;  // another writer invented the step
  }
  const Step& step = definition().steps()[*index];
  Runnable again = runnable_of(step, parked.step, parked.path, std::max(now_, parked.visible_at));
  again.attempt_number = parked.attempt_number + 1;
  again.earlier_attempts = parked.attempt_number;
  again.runnable_key = runnable_key(parked.run_id, name, again.attempt_number);
  again.input = input;
  if (!item.has_value()) {
    begin_visit(step, std::move(again));
    flush();
    return;
  }
  begin_item(step, *item, std::move(again));
  flush();
  plan_items(step, SharedText(without_item(name)));
}

}  // namespace holdfast
