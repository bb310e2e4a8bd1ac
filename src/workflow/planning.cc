#include "workflow/planning.h"

#include <fmt/format.h>

#include <algorithm>

#include "workflow/execution_opts.h"
#include "workflow/redact.h"

namespace holdfast {

namespace {

bool waits_elsewhere(const RunProjection& run, std::string_view just_done) {
  const auto& waiting = run.manual_state();
  return waiting.has_value() && waiting->step.view() != just_done;
}

// Whether a step waits for nothing but `just_done`.
bool is_ready(const RunProjection& run, const Step& step, StepIndex index, StepIndex just_done) {
  const StepProgress& progress = run.progress();
  const std::vector<Step>& steps = run.definition()->steps();
  const std::string_view name = steps[just_done].name.view();
  if (waits_elsewhere(run, name)) {
    return std::all_of(step.after.begin(), step.after.end(), [&](StepIndex before) {
      return is_done(run, steps[before].name.view(), name);
    });
  }
  return progress.unmet[index] == (progress.done[just_done] ? 0U : 1U);
}

void add_ready_steps(std::vector<Runnable>& runnables, const RunProjection& run,
                     const StepDone& done) {
  const Definition& definition = *run.definition();
  const auto just_done = definition.find(done.step.view());
  if (!just_done.has_value()) {
    return;
  }
  Payload input;
  for (const StepIndex index : definition.steps()[*just_done].dependents) {
    const Step& step = definition.steps()[index];
    if (run.latest(step.name.view()) != nullptr || !is_ready(run, step, index, *just_done)) {
      continue;
    }
    if (input.empty()) {
      input = run.context_with(done.result);
    }
    TimeMs visible_at = later(done.at, done.delay_ms);
    const auto& not_before = run.progress().not_before;
    if (const auto found = not_before.find(index); found != not_before.end()) {
      visible_at = std::max(visible_at, found->second);
    }
    runnables.push_back(first_attempt(run.run_id(), run.started()->queue, step, input, visible_at));
  }
}

bool is_complete(const RunProjection& run, std::string_view just_done) {
  if (waits_elsewhere(run, just_done)) {
    return false;
  }
  const StepProgress& progress = run.progress();
  const auto index = run.definition()->find(just_done);
  const bool one_more = index.has_value() && !progress.done[*index];
  return progress.done_count + (one_more ? 1 : 0) == progress.done.size() &&
         are_nodes_done(run, just_done);
}

}  // namespace

Error refusal(const RunProjection& run, ErrorCode code, const std::string& message) {
  const std::string run_id = to_string(run.run_id());
  return Error{code, fmt::format("run {}: {}", run_id, message)}.with("run_id", run_id);
}

Error refusal(const RunProjection& run, const Attempt& attempt, ErrorCode code,
              const std::string& message) {
  return refusal(run, code,
                 fmt::format("attempt {} at step {}: {}", attempt.runnable_key.view(),
                             attempt.step.view(), message))
      .with("step", attempt.step.view())
      .with("runnable_key", attempt.runnable_key.view());
}

TimeMs later(TimeMs time, std::uint64_t by_ms) {
  return TimeMs{time.value + static_cast<std::int64_t>(std::min(by_ms, kMaxDurationMs))};
}

Result<void> check_started(const RunProjection& run) {
  if (!run.started().has_value()) {
    return refusal(run, ErrorCode::run_not_found, "it was never started");
  }
  return {};
}

RunSignalReceived receipt(const RunId& run, SignalType type, const CommandSource& source,
                          const Payload& payload) {
  RunSignalReceived fact;
  fact.run_id = run;
  fact.signal_type = type;
  fact.payload = or_empty(payload);
  fact.metadata = redact(or_empty(source.metadata));
  fact.source = source.source;
  fact.signal_id = source.signal_id;
  fact.idempotency_key = source.idempotency_key;
  fact.actor = source.actor;
  fact.comment = source.comment;
  fact.trace = source.trace;
  return fact;
}

Result<const PlannedRunnable*> find_applicable(const RunProjection& run, const Attempt& attempt) {
  if (attempt.run_id != run.run_id()) {
    return refusal(run, attempt, ErrorCode::wrong_run,
                   "it belongs to run " + to_string(attempt.run_id));
  }
  const PlannedRunnable* planned = run.find(attempt.runnable_key.view());
  if (planned == nullptr) {
    return refusal(run, attempt, ErrorCode::unknown_runnable_intent, "the run never planned it");
  }
  if (planned->applied) {
    return nullptr;
  }
  if (run.is_terminal()) {
    return refusal(run, attempt, ErrorCode::terminal_run,
                   fmt::format("the run is {}", to_text(run.status())));
  }
  if (planned->plan.is_timer()) {
    return refusal(run, attempt, ErrorCode::invalid_transition, "it is the timer of a wait");
  }
  if (attempt.status != AttemptStatus::completed) {
    return refusal(run, attempt, ErrorCode::result_not_completed,
                   fmt::format("it is {}, so it has no result", to_text(attempt.status)));
  }
  return planned;
}

Result<void> check_not_waiting(const RunProjection& run, const Attempt& attempt) {
  if (run.manual_state().has_value()) {
    return refusal(run, attempt, ErrorCode::active_manual_step,
                   fmt::format("the run waits at step {}", run.manual_state()->step.view()))
        .with("waiting_step", run.manual_state()->step.view());
  }
  return {};
}

RunnableApplied applied_fact(const RunProjection& run, const Attempt& attempt, TimeMs now) {
  RunnableApplied fact;
  fact.run_id = run.run_id();
  fact.runnable_key = attempt.runnable_key;
  fact.result = attempt.outcome->result;
  fact.applied_at = now;
  fact.execution_opts = attempt.outcome->execution_opts;
  fact.guardrails = attempt.outcome->guardrails;
  return fact;
}

RunnableApplied final_fact(const RunProjection& run, const Attempt& attempt, TimeMs now) {
  RunnableApplied fact = applied_fact(run, attempt, now);
  if (execution_opts(fact.execution_opts).defer.has_value()) {
    fact.execution_opts = Payload();
  }
  return fact;
}

RunTerminal terminal_fact(const RunProjection& run, TerminalStatus status, const Payload& error) {
  RunTerminal fact;
  fact.run_id = run.run_id();
  fact.status = status;
  fact.error = error;
  return fact;
}

Payload terminal_error(std::string_view code, std::string_view message, std::string_view step) {
  JsonWriter writer;
  writer.begin_object().member("code", code).member("message", message).member("step", step);
  writer.member("retryable", false).end_object();
  return std::move(writer).take_text();
}

Runnable first_attempt(const RunId& run, const SharedText& queue, const Step& step,
                       const Payload& input, TimeMs visible_at) {
  Runnable runnable;
  runnable.run_id = run;
  runnable.runnable_key = runnable_key(run, step.name.view(), 1);
  runnable.idempotency_key = runnable.runnable_key;
  runnable.attempt_number = 1;
  runnable.queue = step.queue.empty() ? queue : step.queue;
  if (runnable.queue.empty()) {
    runnable.queue = kDefaultQueue;
  }
  runnable.step = step.name;
  runnable.input = input;
  runnable.visible_at = visible_at;
  runnable.handler = step.handler;
  runnable.lease_ms = step.lease_ms;
  return runnable;
}

bool is_done(const RunProjection& run, std::string_view step, std::string_view just_done) {
  if (step == just_done) {
    return true;
  }
  if (run.manual_state().has_value() && run.manual_state()->step.view() == step) {
    return false;
  }
  if (const auto index = run.definition()->find(step)) {
    return run.progress().done[*index];
  }
  const PlannedRunnable* latest = run.latest(step);
  return latest != nullptr && latest->applied;
}

void add_what_follows(RunFacts& facts, const RunProjection& run, const StepDone& done) {
  HOLDFAST_ASSERT(run.definition() != nullptr);
  RunnablesPlanned planned;
  planned.run_id = run.run_id();
  add_ready_steps(planned.runnables, run, done);
  add_ready_nodes(planned.runnables, run, done);
  if (!planned.runnables.empty()) {
    facts.emplace_back(std::move(planned));
  } else if (is_complete(run, done.step.view())) {
    facts.emplace_back(terminal_fact(run, TerminalStatus::completed));
  }
}

void add_target(RunFacts& facts, const RunProjection& run, const StepDone& done,
                std::string_view target, const Payload& error) {
  if (target == kCompleteTarget) {
    facts.emplace_back(terminal_fact(run, TerminalStatus::completed));
  } else if (target == kFailTarget) {
    facts.emplace_back(terminal_fact(run, TerminalStatus::failed, error));
  } else {
    add_what_follows(facts, run, done);
  }
}

}  // namespace holdfast
