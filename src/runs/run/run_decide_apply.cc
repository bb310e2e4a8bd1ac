#include <fmt/format.h>

#include "runs/facts/activation.h"
#include "runs/run/run_planning.h"

namespace holdfast {

namespace {

Runnable retried(const Runnable& failed, const PlannedRetry& retry) {
  Runnable again = failed;
  again.runnable_key = retry.runnable_key;
  again.idempotency_key = retry.idempotency_key;
  again.attempt_number = failed.attempt_number + 1;
  again.visible_at = retry.visible_at;
  // The queue has scheduled the retry by itself, from the failure; this must be the same intent.
  again.deferred.reset();
  again.event_wait_timeout = Payload();
  return again;
}

// A step that is attempted again changes nothing yet, and a run that compensates nothing any more.
bool changes_graph(const RunProjection& run, const Runnable& plan, const ExecutionOpts& opts) {
  return !opts.graph.empty() && !opts.defer.has_value() && !opts.continue_as_new.has_value() &&
         !is_compensation(plan.step.view()) && !run.is_compensating();
}

// Of an attempt that failed because of its mutation, the error that is recorded.
std::optional<Payload> recorded_graph_fault(const Attempt& attempt) {
  const bool failed =
      attempt.status == AttemptStatus::failed && attempt.outcome &&
      error_code_of(attempt.outcome->error) == error_info(ErrorCode::invalid_graph_mutation).name;
  return failed ? std::optional(attempt.outcome->error) : std::nullopt;
}

std::optional<Payload> graph_fault(const RunProjection& run, const Attempt& attempt,
                                   const Completion& completion) {
  const ExecutionOpts opts = execution_opts(completion.execution_opts);
  const PlannedRunnable* planned = run.find(attempt.runnable_key.view());
  if (planned == nullptr || run.definition() == nullptr ||
      !changes_graph(run, planned->plan, opts)) {
    return std::nullopt;
  }
  if (attempt.ended() || planned->applied || run.is_terminal()) {
    return recorded_graph_fault(attempt);
  }
  const auto mutation = plan_step_mutation(run, planned->plan, opts.graph);
  return mutation.ok() ? std::nullopt
                       : std::optional(mutation_error(mutation.error(), attempt.step.view()));
}

}  // namespace

Result<RunFacts> decide_apply(RunProjection& run, const Attempt& attempt,
                              const Surroundings& around, TimeMs now) {
  HOLDFAST_TRY(const PlannedRunnable* const planned, find_applicable(run, attempt));
  if (planned == nullptr) {
    return RunFacts();
  }
  const ExecutionOpts opts = execution_opts(attempt.outcome->execution_opts);
  if (opts.continue_as_new.has_value()) {
    return decide_continue(run, attempt, {opts.continue_as_new->key, opts.continue_as_new->input},
                           now);
  }
  RunDraft draft(run, around, now);
  const bool changes = changes_graph(run, planned->plan, opts);
  if (changes) {
    auto mutation = plan_step_mutation(run, planned->plan, opts.graph);
    if (!mutation.ok()) {
      draft.failed(*planned, mutation_error(mutation.error(), planned->plan.step.view()));
      return draft.finish();
    }
    if (mutation.value().has_value()) {
      draft.add(*std::move(mutation).value());
    }
  }
  draft.done(*planned, {attempt.outcome->result, attempt.outcome->execution_opts});
  if (changes) {
    draft.plan_nodes();
  }
  return draft.finish();
}

std::optional<Payload> output_fault(const RunProjection& run, std::string_view runnable_key,
                                    const Payload& result) {
  const PlannedRunnable* planned = run.find(runnable_key);
  const auto index = planned == nullptr || run.definition() == nullptr
                         ? std::nullopt
                         : run.definition()->find(planned->plan.step.view());
  if (!index.has_value() || is_compensation(planned->plan.step.view()) ||
      !run.definition()->steps()[*index].output_contract.has_value()) {
    return std::nullopt;
  }
  const Step& step = run.definition()->steps()[*index];
  if (!result.is_object()) {
    return terminal_error("invalid_output", "the result is not an object", step.name.view());
  }
  const ContractMisfit misfit =
      step.output_contract->check(Json::parse(result.view()).value(), UnknownFields::allowed);
  return misfit.none() ? std::nullopt
                       : std::optional(misfit_error("invalid_output", "the result", misfit,
                                                    step.name.view()));
}

std::optional<Payload> completion_fault(const RunProjection& run, const Attempt& attempt,
                                        const Completion& completion) {
  auto fault = output_fault(run, attempt.runnable_key.view(), completion.result);
  return fault.has_value() ? fault : graph_fault(run, attempt, completion);
}

std::optional<PlannedRetry> plan_retry(const RunProjection& run, const Attempt& attempt,
                                       const Failure& failure, TimeMs now) {
  const PlannedRunnable* planned = run.find(attempt.runnable_key.view());
  if (planned == nullptr) {
    return std::nullopt;
  }
  const auto at = retry_at(run, planned->plan, failure, now);
  if (!at.has_value()) {
    return std::nullopt;
  }
  return PlannedRetry{runnable_key(attempt.run_id, attempt.step.view(), attempt.attempt_number + 1),
                      attempt.idempotency_key, *at};
}

Result<RunFacts> decide_after_failure(RunProjection& run, const Attempt& attempt,
                                      const Payload& error,
                                      const std::optional<PlannedRetry>& retry,
                                      const Surroundings& around, TimeMs now) {
  if (attempt.run_id != run.run_id()) {
    return refusal(run, attempt, ErrorCode::wrong_run,
                   "it belongs to run " + to_string(attempt.run_id));
  }
  const PlannedRunnable* planned = run.find(attempt.runnable_key.view());
  if (planned == nullptr) {
    return refusal(run, attempt, ErrorCode::unknown_runnable_intent, "the run never planned it");
  }
  const bool has_continued = run.is_terminal() || planned->applied ||
                             run.latest(planned->plan.step.view()) != planned ||
                             run.parked(planned->plan.step) != nullptr;
  if (has_continued) {
    return RunFacts();
  }
  RunDraft draft(run, around, now);
  if (retry.has_value()) {
    draft.plan(retried(planned->plan, *retry));
  } else if (parks(run, planned->plan)) {
    draft.park(*planned, error);
  } else {
    draft.failed(*planned, error);
  }
  return draft.finish();
}

Result<RunFacts> decide_timer(RunProjection& run, std::string_view runnable_key,
                              const Surroundings& around, TimeMs now) {
  HOLDFAST_CHECK(check_started(run));
  const PlannedRunnable* planned = run.find(runnable_key);
  if (planned == nullptr || planned->plan.handler.view() != kTimerHandler) {
    return refusal(run, ErrorCode::unknown_runnable_intent,
                   fmt::format("{} is not a timer of the run", runnable_key))
        .with("runnable_key", runnable_key);
  }
  if (planned->applied || run.is_terminal()) {
    return RunFacts();
  }
  if (now < planned->plan.visible_at) {
    return refusal(run, ErrorCode::invalid_transition,
                   fmt::format("timer {} is not due yet", runnable_key))
        .with("runnable_key", runnable_key);
  }
  RunDraft draft(run, around, now);
  const Payload& timeout = planned->plan.event_wait_timeout;
  if (!planned->plan.timer.empty()) {
    draft.fire(*planned);
  } else if (!timeout.empty()) {
    const auto named = from_json<WaitTimeout>(timeout.view());
    const auto wait =
        named.ok() ? run.waits().find(named.value().wait_id.str()) : run.waits().end();
    if (wait != run.waits().end() && wait->second.status == WaitStatus::waiting) {
      draft.timed_out(EventWait(wait->second));
    }
  } else {
    draft.carry_out(*planned);
  }
  return draft.finish();
}

AttemptScheduled intent_of(const Runnable& runnable, const SharedText& workflow) {
  AttemptScheduled intent;
  intent.run_id = runnable.run_id;
  intent.runnable_key = runnable.runnable_key;
  intent.idempotency_key = runnable.idempotency_key;
  intent.attempt_number = runnable.attempt_number;
  intent.queue = runnable.queue;
  intent.step = runnable.step;
  intent.input = runnable.input;
  intent.visible_at = runnable.visible_at;
  intent.workflow = workflow;
  intent.handler = runnable.handler;
  intent.policy = runnable.policy;
  intent.event_wait_timeout = runnable.event_wait_timeout;
  intent.deadline = runnable.deadline;
  intent.trace = runnable.trace;
  return intent;
}

}  // namespace holdfast
